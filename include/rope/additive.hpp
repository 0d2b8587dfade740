// SPDX-License-Identifier: MIT
// The additive encodings that rotary embedding is compared with: a row of a table is added to every token.
#pragma once

#include <cstddef>
#include <type_traits>

#include "errors.hpp"
#include "fwd.hpp"
#include "positions.hpp"
#include "tensor_view.hpp"
#include "types.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/base/containers.hpp"
#include "detail/base/executor.hpp"
#include "detail/rotary/additive_table.hpp"

ROPE_BEGIN

/// A contiguous [batch, seq, d_model] buffer, as the tokens of a model before their projection to heads.
template <class T>
ROPE_ABI constexpr TensorView<T> embedding_view(T* ptr, Index batch, Index seq, Index d_model) noexcept {
    return view(ptr, batch, seq, 1, d_model);
}
/// A view of a contiguous container, which must have that size; see view(container, ...).
template <class C, detail::IfOwner<C> = 0>
ROPE_ABI inline detail::ViewOfBuffer<C> embedding_view(C& container ROPE_LIFETIMEBOUND, Index batch, Index seq,
                                                       Index d_model) {
    return rope::view(detail::elements_of(container, detail::kEmbeddingNames, batch, seq, 1, d_model), batch, seq, 1,
                      d_model);
}
template <class C, detail::IfSpanOrTemporary<C> = 0>
ROPE_ABI inline auto embedding_view(C&& container, Index batch, Index seq, Index d_model) {
    return rope::view(detail::elements_of_span(container, detail::kEmbeddingNames, batch, seq, 1, d_model), batch, seq,
                      1, d_model);
}

/// The common base of additive encodings: a table [max_positions, d_model], and add. Made as one of the two below.
///
/// T is float, for data in float, half and bfloat16, or double, for data in double.
///
/// x of add and check is [batch, seq, d_model]: embedding_view(ptr, batch, seq, d_model), an Eigen Tensor or TensorMap
/// of rank 3, or any other tensor that apply accepts with heads * head_dim == d_model; element (h, j) is then feature
/// h * head_dim + j.
///
/// Results      x + row, computed in T and rounded once more if the elements are narrower: in float and double the
///              nearest number to the sum of x and the entry. Independent of strides and of how the work is cut.
/// Aliasing     Distinct elements of x have distinct addresses, and x shares none with the table.
///
/// Positions, executor, memory, threads and errors are as for apply; see there.
template <class T>
class AdditiveEmbedding : protected detail::AdditiveTable<T> {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "A table is float (it serves float, half and bfloat16 data) or double.");

 public:
    /// Adds to every token the row of its position, in place.
    template <class X, class Executor = detail::CallingThread>
    ROPE_ABI detail::ResultOf<Executor> add(X&& x, PositionsArgument&& positions = {}, Executor&& executor = {}) const
        noexcept(detail::throws_nothing<Executor>) {
        return detail::return_or_raise<detail::ResultOf<Executor>>(
            this->add_rows(detail::embedding_of<T>(x), positions, detail::executor_of(executor)));
    }

    /// Whether add would accept these arguments. Never throws; see Status.
    template <class X, class Executor = detail::CallingThread>
    ROPE_ABI Status check(X&& x, PositionsArgument&& positions = {}, Executor&& = {}) const noexcept {
        return this->check_tensor(detail::embedding_of<T>(x), positions);
    }

    /// The d_model entries of a position, valid as long as the table. Throws std::out_of_range when the table
    /// does not hold the position.
    ROPE_ABI const T* row(Index position) const ROPE_LIFETIMEBOUND { return this->find(position); }

    /// Positions of the table, from 0 on.
    ROPE_ABI Index max_positions() const noexcept { return this->max_positions_; }
    /// Features of a token.
    ROPE_ABI Index d_model() const noexcept { return this->d_model_; }
    /// Memory of the table.
    ROPE_ABI std::size_t bytes() const noexcept {
        return static_cast<std::size_t>(max_positions()) * static_cast<std::size_t>(d_model()) * sizeof(T);
    }

 protected:
    ROPE_ABI AdditiveEmbedding() = default;
    // Declared so that there is no moving, and no embedding is ever left empty.
    ROPE_ABI AdditiveEmbedding(const AdditiveEmbedding&) = default;
    ROPE_ABI AdditiveEmbedding& operator=(const AdditiveEmbedding&) = default;
    ROPE_ABI ~AdditiveEmbedding() = default;
};

/// Where the sines and cosines of a sinusoidal row lie. Pair i, of d_model/2, has the angle of RoPE.
enum class SinusoidalVariant : unsigned char {
    interleaved,  ///< row[2i] = sin, row[2i + 1] = cos: Vaswani et al.
    concatenated  ///< row[i] = sin, row[i + d_model/2] = cos: tensor2tensor and many after it
};

/// Sines and cosines of position * base^(-2i / d_model).
/// Source: Vaswani et al., "Attention Is All You Need", arXiv:1706.03762, section 3.5.
///
/// Entries have the accuracy of CosSinCache. Immutable once built: any number of threads may read it. Copies
/// share the table.
template <class T>
class SinusoidalEmbedding : public AdditiveEmbedding<T> {
 public:
    using Variant = SinusoidalVariant;

    ROPE_ABI SinusoidalEmbedding(const SinusoidalEmbedding&) = default;
    ROPE_ABI SinusoidalEmbedding& operator=(const SinusoidalEmbedding&) = default;
    ROPE_ABI ~SinusoidalEmbedding() = default;

    /// Throws std::invalid_argument when d_model is odd or not in 2 .. 2^20, when max_positions is below 1 or
    /// more than any machine could hold, or when base is not finite and above 0; std::bad_alloc when there is no
    /// memory.
    ROPE_ABI SinusoidalEmbedding(Index d_model, Index max_positions, Variant variant = Variant::interleaved,
                                 double base = 10000.0) {
        this->fill_sinusoidal(d_model, max_positions, variant, base);
    }
};

/// A trained row per position, as in GPT-2 and BERT.
///
/// Copies have their own weights. Writing weights() while another thread adds is a race.
template <class T>
class LearnedEmbedding : public AdditiveEmbedding<T> {
 public:
    /// Copies max_positions rows of d_model weights. Throws std::invalid_argument when weights is null, when
    /// either number is below 1, when d_model is above 2^20, or when no machine could hold so many; std::bad_alloc when
    /// there is no memory.
    ROPE_ABI LearnedEmbedding(const T* weights, Index max_positions, Index d_model) {
        this->copy_weights(weights, max_positions, d_model);
    }

    /// Copies the weights. Throws std::bad_alloc when there is no memory; an object assigned to is then as it was.
    ROPE_ABI LearnedEmbedding(const LearnedEmbedding& other) : AdditiveEmbedding<T>() { this->copy_table(other); }
    ROPE_ABI LearnedEmbedding& operator=(const LearnedEmbedding& other) {
        this->copy_table(other);
        return *this;
    }
    ROPE_ABI ~LearnedEmbedding() = default;

    /// [max_positions, d_model], row after row, for training.
    ROPE_ABI T* weights() noexcept ROPE_LIFETIMEBOUND { return this->table_.get(); }
    ROPE_ABI const T* weights() const noexcept ROPE_LIFETIMEBOUND { return this->table_.get(); }
};

ROPE_END

#if ROPE_HAS_DEFINITIONS
#    include "detail/rotary/add_rows.hpp"
#endif

#include "detail/base/restore_macros.hpp"
