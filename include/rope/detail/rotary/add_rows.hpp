// SPDX-License-Identifier: MIT
// Definitions of AdditiveTable: how tables are made, and their rows added to a tensor.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include "../../additive.hpp"
#include "../../config.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../positions.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../call/job.hpp"
#include "../kernels/add.hpp"
#include "../positions/positions_in_table.hpp"
#include "../tables/fill_table.hpp"
#include "../tables/table_memory.hpp"
#include "../views/any_view.hpp"
#include "../views/view_checks.hpp"
#include "additive_table.hpp"

ROPE_SOURCE_BEGIN

template <class T>
ROPE_API const T* AdditiveTable<T>::find(Index position) const {
    if (position >= 0 && position < max_positions_) return table_.get() + position * d_model_;
    refuse(out_of_range("position is {}; this embedding holds positions 0 to {}.", {position, max_positions_ - 1}));
}

template <class T>
ROPE_IS_COLD ROPE_API Status AdditiveTable<T>::check_tensor(const AnyView& x,
                                                            const Positions& positions) const noexcept {
    const AnyView rows =
        erased("", TensorView<const T>{table_.get(), 1, max_positions_, 1, d_model_, 0, d_model_, d_model_, 1});
    const TableShape shape = {d_model_, 0, max_positions_, "embedding"};
    if (const Status s = check_extents(x); !s.ok()) return s;
    const Index heads = x.extents[2], head_dim = x.extents[3];
    if (clamped_product(heads, head_dim) != d_model_)
        return heads == 1
                   ? invalid("x has a d_model of {}; it must be that of this embedding ({}).", {head_dim, d_model_})
                   : invalid(
                         "x has {} {head|heads} of head_dim {}; together they must be the d_model of this "
                         "embedding ({}).",
                         {heads, head_dim, d_model_});
    if (const Status s = check_no_self_overlap(x); !s.ok()) return s;
    if (!is_disjoint(x, rows))
        return invalid(
            "x may share elements with the table of {} {position|positions} times {} {entry|entries} that is added "
            "to it; it must not.",
            {max_positions_, d_model_});
    if (const Status s = check_positions(positions, x.extents[0], x.extents[1], shape); !s.ok()) return s;
    return isa_is_chosen() ? Status() : choose_isa();
}

template <class T>
template <class X>
ROPE_API Status AdditiveTable<T>::add_rows(const Embedded<X>& x, const Positions& positions,
                                           const AnyExecutor& executor) const {
    if (const Status s = check_tensor(x, positions); !s.ok()) return s;
    const Index heads = count_heads(x), bytes = bytes_of(x);
    const LoopOrder order = choose_order(x, bytes > kCachedBytes<false>, kFeatureAxis);
    const auto kernel = add_kernel<X, T>(chosen_isa.load(std::memory_order_relaxed));
    execute(executor,
            Job<AddTask<X, T>>{{x, table_.get(), positions, order}, kernel, heads, bytes, heads_per_item(order, x), 1});
    return Status();
}

template <class T>
void AdditiveTable<T>::allocate(Index max_positions, Index d_model) {
    if (d_model < 1 || d_model > kMaxHeadDim)
        refuse(invalid("d_model is {}; it must be from 1 to {}.", {d_model, kMaxHeadDim}));
    if (max_positions < 1) refuse(invalid("max_positions is {}; it must be at least 1.", {max_positions}));
    ok_or_raise(check_table_size("max_positions", max_positions, max_positions, d_model, sizeof(T)));
    table_ = table_memory<T>(max_positions, d_model);
    if (table_ == nullptr) refuse(no_memory(max_positions, d_model, sizeof(T)));
    max_positions_ = max_positions;
    d_model_ = d_model;
}

template <class T>
ROPE_API void AdditiveTable<T>::fill_sinusoidal(Index d_model, Index max_positions, SinusoidalVariant variant,
                                                double base) {
    if (d_model < 2 || d_model % 2 != 0 || d_model > kMaxHeadDim)
        refuse(invalid("d_model is {}; it must be even and from 2 to {}.", {d_model, kMaxHeadDim}));
    if (variant > SinusoidalVariant::concatenated)
        refuse(invalid("variant is {}; it must be interleaved (0) or concatenated (1).", {static_cast<int>(variant)}));
    Config config;
    config.head_dim = d_model;
    config.base = base;
    const Frequencies f = frequencies(config);
    allocate(max_positions, d_model);
    const std::size_t row_size = static_cast<std::size_t>(d_model);
    const std::unique_ptr<T[]> cos_sin(new (std::nothrow) T[row_size]);
    if (!cos_sin || !fill_cos_sin_table(f, 0, max_positions, table_.get()))
        refuse(no_memory(max_positions, d_model, sizeof(T)));
    const Index pairs = d_model / 2;
    const bool interleaved = variant == SinusoidalVariant::interleaved;
    for (Index p = 0; p < max_positions; ++p) {
        T* const row = table_.get() + p * d_model;
        std::memcpy(cos_sin.get(), row, row_size * sizeof(T));
        for (Index i = 0; i < pairs; ++i) {
            row[interleaved ? 2 * i : i] = cos_sin[static_cast<std::size_t>(pairs + i)];
            row[interleaved ? 2 * i + 1 : pairs + i] = cos_sin[static_cast<std::size_t>(i)];
        }
    }
}

template <class T>
ROPE_API void AdditiveTable<T>::copy_weights(const T* weights, Index max_positions, Index d_model) {
    if (weights == nullptr)
        refuse(invalid("weights is a null pointer; it must point to max_positions * d_model ({} * {}) numbers.",
                       {max_positions, d_model}));
    allocate(max_positions, d_model);
    std::memcpy(table_.get(), weights,
                static_cast<std::size_t>(max_positions) * static_cast<std::size_t>(d_model) * sizeof(T));
}

template <class T>
ROPE_API void AdditiveTable<T>::copy_table(const AdditiveTable& other) {
    if (this == &other) return;
    AdditiveTable copy;
    copy.copy_weights(other.table_.get(), other.max_positions_, other.d_model_);
    *this = copy;
}

ROPE_SOURCE_END
