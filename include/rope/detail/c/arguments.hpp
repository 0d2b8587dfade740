// SPDX-License-Identifier: MIT
// The arguments of a call of rope.h: tensors, positions, executors.
#pragma once

#include <cstdint>
#include <optional>

#include "../../axis_positions.hpp"
#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../part.hpp"
#include "../../positions.hpp"
#include "../../rope.h"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "../base/executor.hpp"
#include "../call/rotate_call.hpp"
#include "../views/any_view.hpp"
#include "handles.hpp"
#include "structs.hpp"

ROPE_DETAIL_BEGIN

static_assert(ROPE_FLOAT32 == static_cast<int>(ElementType::f32) &&
              ROPE_FLOAT64 == static_cast<int>(ElementType::f64) &&
              ROPE_FLOAT16 == static_cast<int>(ElementType::f16) &&
              ROPE_BFLOAT16 == static_cast<int>(ElementType::bf16) && ROPE_INT8 == static_cast<int>(ElementType::i8) &&
              ROPE_UINT8 == static_cast<int>(ElementType::u8));
static_assert(ROPE_FORWARD == static_cast<int>(Direction::forward) &&
              ROPE_INVERSE == static_cast<int>(Direction::inverse) &&
              ROPE_TRANSPOSE == static_cast<int>(Direction::transpose));

// ---- Tensors ----

inline constexpr unsigned char kBytesOfType[] = {4, 8, 2, 2, 1, 1, 4, 8};

/// A tensor of elements from 16 to 64 bits, or of codes where these may be.
ROPE_INLINE Status read_tensor(const char* name, Name shape_name, const rope_tensor* shape, const void* data,
                               bool may_be_codes, AnyView& view) noexcept {
    Struct<rope_tensor> t;
    if (const Status s = t.read(shape_name, "rope_tensor", shape); !s.ok()) return s;
    const std::int32_t most = may_be_codes ? ROPE_UINT8 : ROPE_BFLOAT16;
    if (t->type < 0 || t->type > most)
        return invalid(
            "{}{}.type is {}; it must be from 0 to {}: ROPE_FLOAT32, ROPE_FLOAT64, ROPE_FLOAT16, "
            "ROPE_BFLOAT16{}.",
            {shape_name.of, shape_name.member, t->type, most, may_be_codes ? ", ROPE_INT8, ROPE_UINT8" : ""});
    view.name = name;
    view.data = const_cast<void*>(data);
    view.type = static_cast<ElementType>(t->type);
    view.element_size = kBytesOfType[t->type];
    view.extents[0] = t->batch;
    view.extents[1] = t->seq;
    view.extents[2] = t->heads;
    view.extents[3] = t->head_dim;
    if ((t->batch_stride | t->seq_stride | t->head_stride | t->feature_stride) != 0) {
        view.strides[0] = t->batch_stride;
        view.strides[1] = t->seq_stride;
        view.strides[2] = t->head_stride;
        view.strides[3] = t->feature_stride;
    } else {
        view.strides[3] = 1;
        view.strides[2] = t->head_dim;
        view.strides[1] = clamped_product(t->heads, view.strides[2]);
        view.strides[0] = clamped_product(t->seq, view.strides[1]);
    }
    return Status();
}

/// Gradients and sums, which are double.
inline Status read_doubles(const char* name, const char* shape_name, const rope_tensor* shape, const double* data,
                           AnyView& view) noexcept {
    if (const Status s = read_tensor(name, shape_name, shape, data, false, view); !s.ok()) return s;
    if (view.type == ElementType::f64) return Status();
    return invalid("{}.type is {}; it must be ROPE_FLOAT64 (1).", {shape_name, static_cast<int>(view.type)});
}

// ---- Positions ----

inline Status check_ids_type(const char* name, std::int32_t type) noexcept {
    if (type == ROPE_INT32 || type == ROPE_INT64) return Status();
    return invalid("{}.ids_type is {}; it must be ROPE_INT32 (6) or ROPE_INT64 (7).", {name, type});
}
ROPE_COLD Status needs_no_axes(const char* name) noexcept {
    return invalid(
        "{}.positions is ROPE_AXES (3); this function takes ROPE_START (0), ROPE_STARTS (1) or ROPE_IDS (2): "
        "positions on axes are for rope_rows_build, rope_moves_build_between and rope_step_build.",
        {name});
}
/// A list of positions, of a type that is checked.
ROPE_INLINE Positions listed_positions(const rope_call& call, const void* ids) noexcept {
    const auto kind = call.positions == ROPE_IDS ? Positions::Kind::ids : Positions::Kind::start_per_entry;
    return call.ids_type == ROPE_INT32 ? Positions(kind, static_cast<const std::int32_t*>(ids), call.ids_count, 1)
                                       : Positions(kind, static_cast<const std::int64_t*>(ids), call.ids_count, 1);
}
/// Positions on one axis.
inline Status read_positions(const char* name, const rope_call& call, const void* ids, Positions& positions) noexcept {
    if (call.positions == ROPE_START) {
        if (ids != nullptr)
            return invalid("ids is not NULL, but {}.positions is ROPE_START (0), which reads none; ROPE_IDS (2) does.",
                           {name});
        if (call.ids_count != 0)
            return invalid(
                "{}.ids_count is {}, but positions is ROPE_START (0), which reads no ids; ROPE_IDS (2) does.",
                {name, call.ids_count});
        positions = Positions::from_start(call.start);
        return Status();
    }
    if (call.positions == ROPE_AXES) return needs_no_axes(name);
    if (const Status s = check_named({name, ".positions"}, call.positions, ROPE_AXES + 1); !s.ok()) return s;
    if (const Status s = check_ids_type(name, call.ids_type); !s.ok()) return s;
    if (call.start != 0)
        return invalid("{}.start is {}, beside a list of ids; it must be 0 there.", {name, call.start});
    positions = listed_positions(call, ids);
    return Status();
}
ROPE_COLD Status needs_a_call(const char* name) noexcept {
    return invalid("ids is not NULL, but {} is, which says how many there are.", {name});
}
/// f(Positions) or f(AxisPositions), as the call says.
template <class F>
Status with_any_positions(const char* name, const rope_call* call, const void* ids, const F& f) {
    if (call == nullptr) return ids == nullptr ? f(Positions()) : needs_a_call(name);
    if (call->positions != ROPE_AXES) {
        Positions positions;
        if (const Status s = read_positions(name, *call, ids, positions); !s.ok()) return s;
        return f(positions);
    }
    const auto on_axes = [&](const auto* numbers) {
        return f(AxisPositions(numbers, call->axes, call->ids_count,
                               call->axis_stride == 0 ? call->ids_count : call->axis_stride));
    };
    if (call->ids_count > 0 && ids == nullptr)
        return invalid("ids is NULL; it must be {} {position|positions} for each axis.", {call->ids_count});
    if (call->axes < 1 || call->axes > 8) return invalid("{}.axes is {}; it must be from 1 to 8.", {name, call->axes});
    if (call->axis_stride < 0)
        return invalid("{}.axis_stride is {}; it must not be negative, and 0 stands for ids_count.",
                       {name, call->axis_stride});
    if (call->start != 0)
        return invalid("{}.start is {}, beside ids on axes; it must be 0 there.", {name, call->start});
    switch (call->ids_type) {
        case ROPE_INT32: return on_axes(static_cast<const std::int32_t*>(ids));
        case ROPE_INT64: return on_axes(static_cast<const std::int64_t*>(ids));
        case ROPE_FLOAT32: return on_axes(static_cast<const float*>(ids));
        case ROPE_FLOAT64: return on_axes(static_cast<const double*>(ids));
        default: break;
    }
    return invalid(
        "{}.ids_type is {}; on axes it must be ROPE_INT32 (6), ROPE_INT64 (7), ROPE_FLOAT32 (0) or ROPE_FLOAT64 (1).",
        {name, call->ids_type});
}

// ---- Threads ----

/// The executor of a call: none, a part, or a function of the caller's.
class Threads {
 public:
    Threads() noexcept = default;
    Threads(const Threads&) = delete;
    Threads& operator=(const Threads&) = delete;

    ROPE_INLINE Status read(const rope_call& call) {
        if ((call.parts | call.part) == 0 && call.executor == nullptr) return Status();
        return read_others(call);
    }
    const AnyExecutor& any() const noexcept { return any_; }
    /// For templates that take an executor; they call what any_executor makes of it.
    void operator()(Index count, const WorkItems& work) const;

 private:
    ROPE_COLD Status read_others(const rope_call& call) {
        if (call.parts == 0 && call.part != 0)
            return invalid("call.part is {} of 0 parts; parts must say how many threads make the call.", {call.part});
        if (call.parts == 0) {
            function_ = {call.executor, call.executor_context};
            any_ = {&function_, &hand_over, call.at_every_size != 0 ? Cutting::always : Cutting::if_large};
            return Status();
        }
        if (call.executor != nullptr)
            return invalid("call.executor is not NULL beside parts of {}; one of the two cuts a call.", {call.parts});
        part_ = part(call.part, call.parts);
        any_ = any_executor(*part_);
        return Status();
    }
    struct Function {
        rope_executor run;
        void* context;
    };
    static void hand_over(void* function, Index count, const WorkItems& work) {
        const auto& f = *static_cast<const Function*>(function);
        const auto run = [](void* job, std::int64_t begin, std::int64_t end) {
            (*static_cast<const WorkItems*>(job))(begin, end);
        };
        f.run(f.context, count, run, const_cast<WorkItems*>(&work));
    }

    AnyExecutor any_ = kCallingThread;
    Function function_ = {};
    std::optional<Part> part_;
};

template <>
inline AnyExecutor any_executor(Threads& threads) noexcept {
    return threads.any();
}

// ---- The call ----

/// A rope_call, read, for operations on one axis.
struct Call {
    Struct<rope_call> given;  // of no pointer if the caller gave none
    bool is_given = false;
    bool only_checks = false;
    Direction direction = Direction::forward;
    Positions positions;
    Threads threads;

    /// Reads the struct alone.
    ROPE_INLINE Status read(const rope_call* call, const char* name = "call") {
        if (call == nullptr) return Status();
        if (const Status s = given.read(name, "rope_call", call); !s.ok()) return s;
        is_given = true;
        if (const Status s = check_named({name, ".direction"}, given->direction, ROPE_TRANSPOSE + 1); !s.ok()) return s;
        direction = static_cast<Direction>(given->direction);
        only_checks = given->only_checks != 0;
        return threads.read(*given);
    }
    /// Reads it with its positions.
    ROPE_INLINE Status read(const rope_call* call, const void* ids, const char* name = "call") {
        if (call == nullptr) return ids == nullptr ? Status() : needs_a_call(name);
        if (const Status s = read(call, name); !s.ok()) return s;
        return read_positions(name, *given, ids, positions);
    }
    /// For functions whose answer is in what they make: none can be asked only whether it would.
    Status refuse_only_checks(const char* name = "call") const noexcept {
        if (!only_checks) return Status();
        return invalid("{}.only_checks is {}; this function has no answer but its result, so it must be 0.",
                       {name, given->only_checks});
    }
    /// Reads it for functions whose result all threads then share.
    Status read_for_building(const rope_call* call, const char* name) {
        if (const Status s = read(call, name); !s.ok()) return s;
        if (const Status s = refuse_only_checks(name); !s.ok()) return s;
        if (!is_given || given->parts == 0) return Status();
        return invalid("{}.parts is {}; one thread makes these numbers for all, alone or by an executor.",
                       {name, given->parts});
    }
    /// For functions that do not rotate, or whose steps say in which direction.
    Status refuse_direction() const noexcept {
        if (direction == Direction::forward) return Status();
        return invalid("call.direction is {}; this function has one direction (0).", {given->direction});
    }
    /// For those of them that read no positions of the call, either.
    Status refuse_rotation() const noexcept {
        if (const Status s = refuse_direction(); !s.ok()) return s;
        if (is_given && (given->positions != ROPE_START || given->start != 0 || given->ids_count != 0))
            return invalid("call.positions is {}, and start {}; this function reads no positions, so they must be 0.",
                           {given->positions, given->start});
        return Status();
    }
    const rope_call* pointer() const noexcept { return is_given ? &*given : nullptr; }

    /// Finds the layout of the call. Without one in the struct it is the layout that the rows are made for.
    Status find_layout(const rope_rows& rows, Layout& layout) const noexcept {
        const std::int32_t named = is_given ? given->layout : 0;
        const std::int32_t number = named == 0 ? rows.layout : named;
        if (number == ROPE_INTERLEAVED || number == ROPE_HALF_SPLIT) {
            layout = number == ROPE_INTERLEAVED ? Layout::interleaved : Layout::half_split;
            return Status();
        }
        if (named == 0)
            return invalid(
                "call.layout is 0, and the rows are made for no layout; it must be ROPE_INTERLEAVED (1) or "
                "ROPE_HALF_SPLIT (2).");
        return invalid(
            "call.layout is {}; it must be ROPE_INTERLEAVED (1), ROPE_HALF_SPLIT (2) or, for that of the "
            "rows, 0.",
            {named});
    }
};

/// A layout of a struct, where 0 stands for none.
inline Status read_layout(const char* name, std::int32_t layout, std::optional<Layout>& to) noexcept {
    if (const Status s = check_named(name, layout, ROPE_HALF_SPLIT + 1); !s.ok()) return s;
    if (layout != 0) to = layout == ROPE_INTERLEAVED ? Layout::interleaved : Layout::half_split;
    return Status();
}

ROPE_DETAIL_END
