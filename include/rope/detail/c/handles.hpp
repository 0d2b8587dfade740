// SPDX-License-Identifier: MIT
// The handles of rope.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "../../cos_sin_rows.hpp"
#include "../../errors.hpp"
#include "../../model_config.hpp"
#include "../../rope.h"
#include "../../rotary_embedding.hpp"
#include "../../types.hpp"
#include "structs.hpp"

ROPE_DETAIL_BEGIN

/// The first word of a handle says its kind, and is 0 when it was freed.
enum class HandleKind : std::uint32_t {
    rows = 0x526f7773,
    model = 0x4d6f646c,
    embedding = 0x456d6264,
    step = 0x53746570
};

/// Rows that can be built are known by what they are built of.
enum class RowsKind : unsigned char { as_they_are, tokens, moves };

/// A RotaryEmbedding of float or of double.
using AnyEmbedding = std::variant<RotaryEmbedding<float>, RotaryEmbedding<double>>;
/// A RotaryStep of the same types, behind a pointer: it can be neither copied nor moved.
using AnyStep = std::variant<std::shared_ptr<RotaryStep<float>>, std::shared_ptr<RotaryStep<double>>>;

ROPE_DETAIL_END

struct rope_rows {
    rope::detail::HandleKind handle;
    std::int32_t layout;                    // that they are made for, as rope_call has it; 0: any
    const rope::CosSinRows<float>* floats;  // one of the two is null
    const rope::CosSinRows<double>* doubles;
    std::shared_ptr<void> owner;  // of the object that one of them is
    rope::detail::RowsKind kind;
};
struct rope_model {
    rope::detail::HandleKind handle;
    rope::ModelConfig model;
};
struct rope_embedding {
    rope::detail::HandleKind handle;
    rope::detail::AnyEmbedding any;
};
struct rope_step {
    rope::detail::HandleKind handle;
    rope::detail::AnyStep any;
};

ROPE_DETAIL_BEGIN

constexpr HandleKind kind_of(const rope_rows*) noexcept { return HandleKind::rows; }
constexpr HandleKind kind_of(const rope_model*) noexcept { return HandleKind::model; }
constexpr HandleKind kind_of(const rope_embedding*) noexcept { return HandleKind::embedding; }
constexpr HandleKind kind_of(const rope_step*) noexcept { return HandleKind::step; }

/// The type of a handle in C, or null if the word is that of none.
inline const char* name_of(HandleKind kind) noexcept {
    switch (kind) {
        case HandleKind::rows: return "rope_rows";
        case HandleKind::model: return "rope_model";
        case HandleKind::embedding: return "rope_embedding";
        case HandleKind::step: return "rope_step";
    }
    return nullptr;
}
template <class H>
ROPE_COLD Status wrong_handle(const char* name, const H* handle) noexcept {
    const char* const type = name_of(kind_of(handle));
    if (handle == nullptr) return missing(name, type);
    const char* const other = name_of(handle->handle);
    if (other != nullptr) return invalid("{} is a {}; it must be a {}.", {name, other, type});
    return invalid("{} is no {}, or one that was freed.", {name, type});
}
template <class H>
ROPE_INLINE Status check_handle(const char* name, const H* handle) noexcept {
    if (handle != nullptr && handle->handle == kind_of(handle)) return Status();
    return wrong_handle(name, handle);
}

template <class H>
void free_handle(H* handle) noexcept {
    if (!check_handle("", handle).ok()) return;
    // The store is volatile, because compilers drop plain stores to an object that is deleted next.
    *const_cast<volatile HandleKind*>(&handle->handle) = HandleKind(0);
    delete handle;
}

/// Requires a place for a result, and says in it that there is none yet.
template <class H>
Status check_result(H** result) noexcept {
    if (result == nullptr) return invalid("result is NULL; it must be the address of a pointer.");
    *result = nullptr;
    return Status();
}

inline std::int32_t number_of(const std::optional<Layout>& layout) noexcept {
    return !layout ? 0 : *layout == Layout::interleaved ? ROPE_INTERLEAVED : ROPE_HALF_SPLIT;
}
inline rope_rows handle_of(const CosSinRows<float>& rows, RowsKind kind = RowsKind::as_they_are) noexcept {
    return {HandleKind::rows, number_of(rows.layout()), &rows, nullptr, nullptr, kind};
}
inline rope_rows handle_of(const CosSinRows<double>& rows, RowsKind kind = RowsKind::as_they_are) noexcept {
    return {HandleKind::rows, number_of(rows.layout()), nullptr, &rows, nullptr, kind};
}
template <class Rows>
rope_rows* new_handle(const Rows& rows, std::shared_ptr<void> owner, RowsKind kind = RowsKind::as_they_are) {
    auto* const handle = new rope_rows(handle_of(rows, kind));
    handle->owner = std::move(owner);
    return handle;
}
/// A handle of rows that are made here: an object of the class Made.
template <class Made, class... Args>
rope_rows* new_rows(RowsKind kind, Args&&... args) {
    const auto made = std::make_shared<Made>(std::forward<Args>(args)...);
    return new_handle(*made, made, kind);
}

/// f(rows) with the type that they have.
template <class F>
ROPE_INLINE auto with_rows(const rope_rows& rows, const F& f) {
    return rows.floats != nullptr ? f(*rows.floats) : f(*rows.doubles);
}

/// f(a number) of the type of entries that options name: float or double.
template <class F>
Status with_entry(const char* name, std::int32_t type, const F& f) {
    if (type == ROPE_FLOAT32) return f(float());
    if (type == ROPE_FLOAT64) return f(double());
    return invalid("{} is {}; it must be ROPE_FLOAT32 (0), for data of up to 32 bits, or ROPE_FLOAT64 (1).",
                   {name, type});
}

ROPE_DETAIL_END
