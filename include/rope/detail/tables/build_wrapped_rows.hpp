// SPDX-License-Identifier: MIT
// The constructor of WrappedRows.
#pragma once

#include "../../config.hpp"
#include "../../errors.hpp"
#include "../../wrapped_rows.hpp"
#include "../angles/config_checks.hpp"
#include "wrapped_rows.hpp"

ROPE_DETAIL_BEGIN

/// The checks of WrappedRows, which set the default of the slice.
template <class T>
inline Status check_wrapped(const CosSinView<T>& view, HeadSlice& slice, double attention_factor) noexcept {
    if (const Status s = check(view); !s.ok()) return s;
    if (view.pair_stride != 1)
        return invalid("pair_stride is {}; rows are wrapped where it is 1, and copied by copy_cos_sin elsewhere.",
                       {view.pair_stride});
    if (view.batch > 1 && view.rows > 0 && entry_stride(view) % row_stride(view) != 0)
        return invalid(
            "head_stride is {}; with {} {batch entry|batch entries} it must be a multiple of row_stride ({}).",
            {view.head_stride, view.batch, row_stride(view)});
    if (const Status s = check_slice(slice, view.pairs); !s.ok()) return s;
    return check_attention_factor(attention_factor);
}

ROPE_DETAIL_END

ROPE_BEGIN

template <class T>
ROPE_API WrappedRows<T>::WrappedRows(const CosSinView<T>& view, HeadSlice slice, double attention_factor) {
    detail::ok_or_raise(detail::check_wrapped(view, slice, attention_factor));
    const bool is_shared = view.batch == 1;
    const Index stride = detail::row_stride(view), entry = is_shared ? 0 : detail::entry_stride(view) / stride;
    this->source_ = {view.cos, view.sin, stride, 0, entry, nullptr, 0, view.heads, view.head_stride};
    this->heads_ = view.heads;
    this->count_ = view.rows;
    this->batch_ = is_shared ? 0 : view.batch;
    this->pairs_ = view.pairs;
    this->head_dim_ = slice.head_dim;
    this->rotary_offset_ = slice.rotary_offset;
    this->attention_factor_ = attention_factor;
    this->name_ = "wrapped table";
    this->by_position_ = false;
}

ROPE_END
