// SPDX-License-Identifier: MIT
// rope.h: passes over paths, and moves of cached keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "../../errors.hpp"
#include "../../heads.hpp"
#include "../../moves.hpp"
#include "../../reposition.hpp"
#include "../../rope.h"
#include "../../types.hpp"
#include "../paths/pass.hpp"
#include "answers.hpp"
#include "arguments.hpp"
#include "handles.hpp"
#include "paths.hpp"
#include "structs.hpp"
#include "tables.hpp"

ROPE_DETAIL_BEGIN

/// The paths of a call, from 1 to 8, in memory of this object: nothing is allocated.
class Paths {
 public:
    Paths() noexcept = default;
    Paths(const Paths&) = delete;
    Paths& operator=(const Paths&) = delete;
    ~Paths() {
        for (Index i = 0; i < built_; ++i) pointers_[i]->~Path();
    }

    Status read(const rope_path* paths, Index count) {
        if (count < 1 || count > kMost) return invalid("path_count is {}; it must be from 1 to {}.", {count, kMost});
        for (Index i = 0; i < count; ++i) {
            Struct<rope_path> p;
            if (const Status s = read_element("paths", "rope_path", paths, i, p); !s.ok()) return s;
            Path* const path = new (memory_ + i * static_cast<Index>(sizeof(Path))) Path(begin_path(no_heads()));
            pointers_[i] = path;
            built_ = i + 1;
            if (const Status s = read_path(*p, *path); !s.ok()) return s;
        }
        return Status();
    }
    const Path* const* pointers() const noexcept { return pointers_; }
    Index count() const noexcept { return built_; }
    const Path& first() const noexcept { return *pointers_[0]; }

 private:
    static constexpr Index kMost = 8;
    alignas(Path) unsigned char memory_[kMost * static_cast<Index>(sizeof(Path))];
    Path* pointers_[kMost];
    Index built_ = 0;
};

/// f(layout, rows) with the layout and type of a call as template arguments.
template <class F>
Status with_rows_and_layout(const Call& call, const rope_rows& rows, const F& f) {
    Layout layout = Layout::interleaved;
    if (const Status s = call.find_layout(rows, layout); !s.ok()) return s;
    return with_rows(rows, [&](const auto& r) {
        return layout == Layout::interleaved ? f(std::integral_constant<Layout, Layout::interleaved>(), r)
                                             : f(std::integral_constant<Layout, Layout::half_split>(), r);
    });
}

inline Status run(const Call& call, const rope_rows* rows, const Path* const* paths, Index count) {
    const AnyExecutor& executor = call.threads.any();
    if (rows == nullptr)
        return call.only_checks ? check_paths_without_rows(paths, count)
                                : run_paths_without_rows(executor, paths, count);
    return with_rows_and_layout(call, *rows, [&](auto layout, const auto& r) {
        constexpr Layout kLayout = decltype(layout)::value;
        return call.only_checks ? check_paths<kLayout>(r, call.positions, paths, count)
                                : run_paths<kLayout>(executor, r, call.positions, paths, count);
    });
}

extern "C" {

ROPE_C_API int32_t rope_pass(const rope_rows* rows, const rope_call* call, const void* ids, const rope_path* paths,
                             int64_t path_count, char* message, size_t room) {
    return answer(message, room, [&] {
        if (rows != nullptr)
            if (const Status s = check_handle("rows", rows); !s.ok()) return s;
        Call c;
        if (const Status s = c.read(call, ids); !s.ok()) return s;
        if (const Status s = c.refuse_direction(); !s.ok()) return s;
        Paths all;
        if (const Status s = all.read(paths, path_count); !s.ok()) return s;
        return run(c, rows, all.pointers(), all.count());
    });
}

ROPE_C_API int32_t rope_sum_squares(const rope_path* path, const rope_call* call, double* sums,
                                    const rope_tensor* sums_shape, char* message, size_t room) {
    return answer(message, room, [&] {
        Call c;
        if (const Status s = c.read(call); !s.ok()) return s;
        if (const Status s = c.refuse_only_checks(); !s.ok()) return s;
        if (const Status s = c.refuse_rotation(); !s.ok()) return s;
        Paths one;
        if (const Status s = one.read(path, 1); !s.ok()) return s;
        AnyView v;
        if (const Status s = read_doubles("sums", "sums_shape", sums_shape, sums, v); !s.ok()) return s;
        return run_sums(c.threads.any(), one.first(), typed<double>(v));
    });
}

ROPE_C_API int32_t rope_reposition(const rope_rows* moves, const rope_call* call, const rope_heads* keys,
                                   int64_t hadamard_block, char* message, size_t room) {
    return answer(message, room, [&] {
        return with_moves(const_cast<rope_rows*>(moves), [&](const auto& made) {
            Call c;
            if (const Status s = c.read(call); !s.ok()) return s;
            if (const Status s = c.refuse_rotation(); !s.ok()) return s;
            if (hadamard_block < -1)
                return invalid("hadamard_block is {}; it must be a power of two, -1 for the head, or 0 for none.",
                               {hadamard_block});
            Destination cache = no_heads();
            if (const Status s = read_heads("keys", keys, false, cache); !s.ok()) return s;
            Path path = begin_path(cache);
            const Index* const extents = PathAccess::data(path).source.extents;
            if (const Status s = check_count({extents[1], extents[0]}, made); !s.ok()) return s;
            const Index block = hadamard_block < 0 ? 0 : hadamard_block;
            if (hadamard_block != 0) path.hadamard(block);
            path.rotate();
            if (hadamard_block != 0) path.hadamard(block);
            const Path* const paths[] = {&path};
            return run(c, moves, paths, 1);
        });
    });
}

}  // extern "C"

ROPE_DETAIL_END
