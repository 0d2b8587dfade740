// SPDX-License-Identifier: MIT
// The additive encodings that rotary embedding is compared with: a row of a table is added to every token.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "config.hpp"
#include "errors.hpp"
#include "frequencies.hpp"
#include "fwd.hpp"
#include "positions.hpp"
#include "tensor_view.hpp"
#include "types.hpp"

#include "detail/base/containers.hpp"
#include "detail/base/executor.hpp"
#include "detail/call/arguments.hpp"
#include "detail/call/job.hpp"
#include "detail/kernels/add.hpp"
#include "detail/positions/positions_in_table.hpp"
#include "detail/tables/fill_table.hpp"
#include "detail/tables/table_memory.hpp"
#include "detail/views/any_view.hpp"
#include "detail/views/view_checks.hpp"

#include "detail/base/hide_macros.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {

namespace detail {

/// Tensors whose ViewTraits say that they have three axes are read as [batch, seq, d_model] here, where apply
/// reads them as [seq, heads, head_dim].
template <class Traits, class = void>
inline constexpr bool has_three_axes = false;
template <class Traits>
inline constexpr bool has_three_axes<Traits, std::enable_if_t<Traits::tensor_rank == 3>> = true;

template <class Tensor>
ROPE_ABI inline auto as_embedding(Tensor& x) {
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

}  // namespace detail

/// A contiguous [batch, seq, d_model] buffer, as the tokens of a model before their projection to heads.
template <class T>
ROPE_ABI constexpr TensorView<T> embedding_view(T* ptr, Index batch, Index seq, Index d_model) noexcept {
    return view(ptr, batch, seq, 1, d_model);
}
/// A view of a contiguous container, which must have that size; see view(container, ...).
template <class C, detail::IfOwner<C> = 0>
ROPE_ABI inline detail::ViewOfBuffer<C> embedding_view(C& container ROPE_LIFETIMEBOUND, Index batch, Index seq,
                                                       Index d_model) {
    return view(container, batch, seq, 1, d_model);
}
template <class C, detail::IfSpanOrTemporary<C> = 0>
ROPE_ABI inline auto embedding_view(C&& container, Index batch, Index seq, Index d_model) {
    static_assert(detail::is_span<detail::Plain<C>>,
                  "rope::view does not own data: this container is a temporary and would be gone. Give it a name.");
    return view(detail::elements_of(container, batch, seq, 1, d_model), batch, seq, 1, d_model);
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
class AdditiveEmbedding {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "A table is float (it serves float, half and bfloat16 data) or double.");

 public:
    /// Adds to every token the row of its position, in place.
    template <class X, class Executor = detail::CallingThread>
    ROPE_ABI void add(X&& x, PositionsArgument&& positions = {}, Executor&& executor = {}) const {
        const auto v = embedding(x);
        if constexpr (!detail::is_refused<decltype(v)>) {
            const detail::AnyView out = detail::erased("x", v);
            if (!detail::ok_or_raise(check_view(out, positions))) return;
            using Storage = detail::StorageOf<decltype(v)>;
            const Index heads = detail::count_heads(out);
            const Index bytes = detail::bytes_of(out, heads);
            const detail::Job<detail::AddTask<Storage, T>> job = {
                {out, table_.get(), positions, detail::choose_order(out, bytes, detail::kFeatureAxis)},
                detail::add_kernel<Storage, T>(detail::chosen_isa.load(std::memory_order_relaxed)),
                heads,
                bytes};
            detail::execute(executor, job);
        }
    }

    /// Whether add would accept these arguments. Never throws; see Status.
    template <class X, class Executor = detail::CallingThread>
    ROPE_ABI Status check(X&& x, PositionsArgument&& positions = {}, Executor&& = {}) const noexcept {
        const auto v = embedding(x);
        if constexpr (detail::is_refused<decltype(v)>)
            return Status();
        else
            return check_view(detail::erased("x", v), positions);
    }

    /// The d_model entries of a position, valid as long as the table. Throws std::out_of_range when the table
    /// does not hold the position.
    ROPE_ABI const T* row(Index position) const ROPE_LIFETIMEBOUND {
        if (position >= 0 && position < max_positions_) return table_.get() + position * d_model_;
        detail::ok_or_raise(detail::out_of_range("position is {}; this embedding holds positions 0 to {}.",
                                                 {position, max_positions_ - 1}));
        return nullptr;
    }

    ROPE_ABI Index max_positions() const noexcept { return max_positions_; }
    ROPE_ABI Index d_model() const noexcept { return d_model_; }
    /// Memory of the table.
    ROPE_ABI std::size_t bytes() const noexcept {
        return static_cast<std::size_t>(max_positions_) * static_cast<std::size_t>(d_model_) * sizeof(T);
    }

 protected:
    ROPE_ABI AdditiveEmbedding() = default;
    // Declared so that there is no moving, and no embedding is ever left empty.
    ROPE_ABI AdditiveEmbedding(const AdditiveEmbedding&) = default;
    ROPE_ABI AdditiveEmbedding& operator=(const AdditiveEmbedding&) = default;
    ROPE_ABI ~AdditiveEmbedding() = default;

    /// Checks the shape and gets the memory, uninitialised; false when refused and the handler returned.
    ROPE_ABI bool allocate(Index max_positions, Index d_model) {
        if (d_model < 1 || d_model > detail::kMaxHeadDim)
            return detail::ok_or_raise(
                detail::invalid("d_model is {}; it must be from 1 to {}.", {d_model, detail::kMaxHeadDim}));
        if (max_positions < 1)
            return detail::ok_or_raise(detail::invalid("max_positions is {}; it must be at least 1.", {max_positions}));
        if (!detail::ok_or_raise(
                detail::check_table_size("max_positions", max_positions, max_positions, d_model, sizeof(T))))
            return false;
        table_ = detail::table_memory<T>(max_positions, d_model);
        if (table_ == nullptr) return refuse_memory(max_positions, d_model);
        max_positions_ = max_positions;
        d_model_ = d_model;
        return true;
    }

    ROPE_ABI bool refuse_memory(Index max_positions, Index d_model) {
        *this = AdditiveEmbedding();
        return detail::ok_or_raise(detail::no_memory(max_positions, d_model, sizeof(T)));
    }

    ROPE_ABI T* table() const noexcept { return table_.get(); }

 private:
    template <class X>
    ROPE_ABI static auto embedding(X& x) noexcept {
        using View = detail::ViewOf<X>;
        static_assert(
            !detail::is_no_tensor<X>,
            "This argument is no tensor that rope knows: pass rope::embedding_view(ptr, batch, seq, d_model), "
            "rope::view(eigen_matrix, 1), an Eigen Tensor or TensorMap of rank 3 or 4 (with <rope/eigen.hpp> "
            "included), or specialise rope::ViewTraits for its type.");
        static_assert(detail::has_elements<View>,
                      "Elements must be float, double, rope::half or rope::bfloat16, or a type for which "
                      "rope::ElementTraits names one of these (for 16-bit integers that hold such bits: "
                      "rope::as_half(ptr), rope::as_bfloat16(ptr)).");
        static_assert(detail::has_right_traits<View>,
                      "Types of your own may stand for rope::half and rope::bfloat16, which are read as bytes, if they "
                      "have their size and are trivially copyable; float and double are read as themselves.");
        static_assert(detail::is_writable<View>, "This tensor is written, so its elements must not be const.");
        static_assert(detail::goes_with<View, T>,
                      "double data needs an embedding of T = double; float, half and bfloat16 data one of T = float.");
        if constexpr (detail::is_accepted<View, true, T>) {
            return detail::as_embedding(x);
        } else {
            return detail::Refused();
        }
    }

    ROPE_COLD Status check_view(const detail::AnyView& x, const Positions& positions) const noexcept {
        const detail::AnyView rows =
            detail::erased("", TensorView<const T>{table(), 1, max_positions_, 1, d_model_, 0, d_model_, d_model_, 1});
        const detail::TableShape shape = {d_model_, 0, max_positions_, "embedding"};
        if (const Status s = detail::check_extents(x); !s.ok()) return s;
        const Index heads = x.extents[2], head_dim = x.extents[3];
        if (detail::clamped_product(heads, head_dim) != d_model_)
            return detail::invalid(
                "x has {} heads of head_dim {}; together they must be the d_model of this embedding ({}).",
                {heads, head_dim, d_model_});
        if (const Status s = detail::check_no_self_overlap(x); !s.ok()) return s;
        if (!detail::is_disjoint(x, rows))
            return detail::invalid(
                "x may share elements with the table of {} positions times {} entries that is added to it; it must "
                "not.",
                {max_positions_, d_model_});
        if (const Status s = detail::check_positions(positions, x.extents[0], x.extents[1], shape); !s.ok()) return s;
        return detail::isa_is_chosen() ? Status() : detail::choose_isa();
    }

    std::shared_ptr<T[]> table_;
    Index max_positions_ = 0;
    Index d_model_ = 0;
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
        if (d_model < 2 || d_model % 2 != 0 || d_model > detail::kMaxHeadDim) {
            detail::ok_or_raise(
                detail::invalid("d_model is {}; it must be even and from 2 to {}.", {d_model, detail::kMaxHeadDim}));
            return;
        }
        Config config;
        config.head_dim = d_model;
        config.base = base;
        const Frequencies f = frequencies(config);
        if (f.inv_freq.empty() || !this->allocate(max_positions, d_model)) return;
        const std::size_t row_size = static_cast<std::size_t>(d_model);
        const std::unique_ptr<T[]> cos_sin(new (std::nothrow) T[row_size]);
        if (!cos_sin || !detail::fill_cos_sin_table(f, 0, max_positions, this->table())) {
            this->refuse_memory(max_positions, d_model);
            return;
        }
        const Index pairs = d_model / 2;
        const bool interleaved = variant == Variant::interleaved;
        for (Index p = 0; p < max_positions; ++p) {
            T* const row = this->table() + p * d_model;
            std::memcpy(cos_sin.get(), row, row_size * sizeof(T));
            for (Index i = 0; i < pairs; ++i) {
                row[interleaved ? 2 * i : i] = cos_sin[static_cast<std::size_t>(pairs + i)];
                row[interleaved ? 2 * i + 1 : pairs + i] = cos_sin[static_cast<std::size_t>(i)];
            }
        }
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
        if (weights == nullptr) {
            detail::ok_or_raise(detail::invalid(
                "weights is a null pointer; it must point to max_positions * d_model ({} * {}) numbers.",
                {max_positions, d_model}));
            return;
        }
        if (this->allocate(max_positions, d_model)) std::memcpy(this->table(), weights, this->bytes());
    }

    ROPE_ABI LearnedEmbedding(const LearnedEmbedding& other) : AdditiveEmbedding<T>() { *this = other; }
    ROPE_ABI LearnedEmbedding& operator=(const LearnedEmbedding& other) {
        if (other.weights() == nullptr) {  // an empty one, left by an error handler that returned
            AdditiveEmbedding<T>::operator=(other);
        } else if (this != &other) {
            const LearnedEmbedding copy(other.weights(), other.max_positions(), other.d_model());
            AdditiveEmbedding<T>::operator=(copy);
        }
        return *this;
    }

    ROPE_ABI ~LearnedEmbedding() = default;

    /// [max_positions, d_model], row after row, for training.
    ROPE_ABI T* weights() noexcept ROPE_LIFETIMEBOUND { return this->table(); }
    ROPE_ABI const T* weights() const noexcept ROPE_LIFETIMEBOUND { return this->table(); }
};

}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope

#include "detail/base/restore_macros.hpp"
