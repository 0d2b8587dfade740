// SPDX-License-Identifier: MIT
// The tables of additive encodings, and what adds their rows to a tensor.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include "../../config.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../positions.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../call/arguments.hpp"
#include "../call/job.hpp"
#include "../kernels/add.hpp"
#include "../positions/positions_in_table.hpp"
#include "../tables/fill_table.hpp"
#include "../tables/table_memory.hpp"
#include "../views/any_view.hpp"
#include "../views/view_checks.hpp"

ROPE_DETAIL_BEGIN

inline constexpr BufferNames kEmbeddingNames = {"view", {"batch", "seq", nullptr, "d_model"}};

/// Tensors whose ViewTraits say that they have three axes are read as [batch, seq, d_model] here, where apply
/// reads them as [seq, heads, head_dim].
template <class Traits, class = void>
inline constexpr bool has_three_axes = false;
template <class Traits>
inline constexpr bool has_three_axes<Traits, std::enable_if_t<Traits::tensor_rank == 3>> = true;

template <class Tensor>
inline auto as_embedding(Tensor& x) {
    auto v = as_view(x);
    if constexpr (has_three_axes<ViewTraits<Tensor>>) {
        v.batch = v.seq;
        v.batch_stride = v.seq_stride;
        v.seq = v.heads;
        v.seq_stride = v.head_stride;
        v.heads = 1;
    }
    return v;
}

/// The table [max_positions, d_model] of an additive encoding.
template <class T>
class AdditiveTable {
 protected:
    T* table() const noexcept { return table_.get(); }

    /// The entries of a position.
    const T* find(Index position) const {
        if (position >= 0 && position < max_positions_) return table_.get() + position * d_model_;
        refuse(out_of_range("position is {}; this embedding holds positions 0 to {}.", {position, max_positions_ - 1}));
    }

    /// A tensor as a view, or Refused: the functions of the interface call this, so that the compiler's sentence comes
    /// early.
    template <class X>
    static auto embedding(X& x) noexcept {
        using View = ViewOf<X>;
        static_assert(
            !is_no_tensor<X>,
            "This argument is no tensor that rope knows: pass rope::embedding_view(ptr, batch, seq, d_model), "
            "rope::view(eigen_matrix, 1), an Eigen Tensor or TensorMap of rank 3 or 4 (with <rope/eigen.hpp> "
            "included), or specialise rope::ViewTraits for its type.");
        static_assert(has_elements<View>, ROPE_SAYS_ELEMENTS);
        static_assert(has_right_traits<View>, ROPE_SAYS_TRAITS);
        static_assert(is_writable<View>, ROPE_SAYS_CONST);
        static_assert(goes_with<View, T>, ROPE_SAYS_DOUBLE);
        if constexpr (is_accepted<View, true, T>)
            return as_embedding(x);
        else
            return Refused();
    }

    /// Adds to a view that embedding() has returned.
    template <class View>
    Status add_rows(const View& v, const Positions& positions, const AnyExecutor& executor) const {
        if constexpr (!is_refused<decltype(v)>) {
            const AnyView out = erased("x", v);
            if (const Status s = check_view(out, positions); !s.ok()) return s;
            using Storage = StorageOf<decltype(v)>;
            const Index heads = count_heads(out);
            const Index bytes = bytes_of(out);
            const LoopOrder order = choose_order(out, bytes > kCachedBytes<false>, kFeatureAxis);
            const auto kernel = add_kernel<Storage, T>(chosen_isa.load(std::memory_order_relaxed));
            execute(executor,
                    Job<AddTask<Storage, T>>{
                        {out, table_.get(), positions, order}, kernel, heads, bytes, heads_per_item(order, out), 1});
        }
        return Status();
    }

    template <class View>
    Status check_tensor(const View& v, const Positions& positions) const noexcept {
        if constexpr (is_refused<decltype(v)>)
            return Status();
        else
            return check_view(erased("x", v), positions);
    }

    /// Checks the shape and gets the memory, uninitialised.
    void allocate(Index max_positions, Index d_model) {
        if (d_model < 1 || d_model > kMaxHeadDim)
            refuse(invalid("d_model is {}; it must be from 1 to {}.", {d_model, kMaxHeadDim}));
        if (max_positions < 1) refuse(invalid("max_positions is {}; it must be at least 1.", {max_positions}));
        ok_or_raise(check_table_size("max_positions", max_positions, max_positions, d_model, sizeof(T)));
        table_ = table_memory<T>(max_positions, d_model);
        if (table_ == nullptr) refuse(no_memory(max_positions, d_model, sizeof(T)));
        max_positions_ = max_positions;
        d_model_ = d_model;
    }

    /// Gets the memory and fills it with sines and cosines.
    template <class Variant>
    void fill_sinusoidal(Index d_model, Index max_positions, Variant variant, double base) {
        if (d_model < 2 || d_model % 2 != 0 || d_model > kMaxHeadDim)
            refuse(invalid("d_model is {}; it must be even and from 2 to {}.", {d_model, kMaxHeadDim}));
        if (variant > Variant::concatenated)
            refuse(
                invalid("variant is {}; it must be interleaved (0) or concatenated (1).", {static_cast<int>(variant)}));
        Config config;
        config.head_dim = d_model;
        config.base = base;
        const Frequencies f = frequencies(config);
        allocate(max_positions, d_model);
        const std::size_t row_size = static_cast<std::size_t>(d_model);
        const std::unique_ptr<T[]> cos_sin(new (std::nothrow) T[row_size]);
        if (!cos_sin || !fill_cos_sin_table(f, 0, max_positions, table()))
            refuse(no_memory(max_positions, d_model, sizeof(T)));
        const Index pairs = d_model / 2;
        const bool interleaved = variant == Variant::interleaved;
        for (Index p = 0; p < max_positions; ++p) {
            T* const row = table() + p * d_model;
            std::memcpy(cos_sin.get(), row, row_size * sizeof(T));
            for (Index i = 0; i < pairs; ++i) {
                row[interleaved ? 2 * i : i] = cos_sin[static_cast<std::size_t>(pairs + i)];
                row[interleaved ? 2 * i + 1 : pairs + i] = cos_sin[static_cast<std::size_t>(i)];
            }
        }
    }

    /// Gets the memory and copies the weights there.
    void copy_weights(const T* weights, Index max_positions, Index d_model) {
        if (weights == nullptr)
            refuse(invalid("weights is a null pointer; it must point to max_positions * d_model ({} * {}) numbers.",
                           {max_positions, d_model}));
        allocate(max_positions, d_model);
        std::memcpy(table(), weights,
                    static_cast<std::size_t>(max_positions) * static_cast<std::size_t>(d_model) * sizeof(T));
    }

    /// Copies the weights of another table.
    void copy_table(const AdditiveTable& other) {
        if (this == &other) return;
        AdditiveTable copy;
        copy.copy_weights(other.table(), other.max_positions_, other.d_model_);
        *this = copy;
    }

    Index max_positions_ = 0;
    Index d_model_ = 0;

 private:
    ROPE_COLD Status check_view(const AnyView& x, const Positions& positions) const noexcept {
        const AnyView rows =
            erased("", TensorView<const T>{table(), 1, max_positions_, 1, d_model_, 0, d_model_, d_model_, 1});
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
                "to it; it must "
                "not.",
                {max_positions_, d_model_});
        if (const Status s = check_positions(positions, x.extents[0], x.extents[1], shape); !s.ok()) return s;
        return isa_is_chosen() ? Status() : choose_isa();
    }

    std::shared_ptr<T[]> table_;
};

ROPE_DETAIL_END
