// SPDX-License-Identifier: MIT
// Scales and zeros beside the codes of a head, as floats.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

/// A number of a type that is stored beside codes.
ROPE_INLINE float load_number(const unsigned char* from, ElementType type) noexcept {
    if (type == ElementType::i8) return static_cast<float>(static_cast<signed char>(*from));
    if (type == ElementType::u8) return static_cast<float>(*from);
    if (type == ElementType::f32) {
        float x;
        std::memcpy(&x, from, sizeof(x));
        return x;
    }
    std::uint16_t bits;
    std::memcpy(&bits, from, sizeof(bits));
    return type == ElementType::f16 ? float_from(half{bits}) : float_from(bfloat16{bits});
}
ROPE_INLINE float number_at(const NumbersBeside& n, Index i) noexcept {
    return load_number(n.data + i * n.step, n.type);
}
/// Rounds x to the type, stores the result and returns it.
ROPE_INLINE float put_number(unsigned char* to, ElementType type, float x) noexcept {
    if (type == ElementType::f32) {
        std::memcpy(to, &x, sizeof(x));
        return x;
    }
    if (type == ElementType::i8 || type == ElementType::u8) {
        *to = static_cast<unsigned char>(static_cast<int>(x) & 0xff);
        return x;
    }
    const std::uint16_t bits = type == ElementType::f16 ? half_from(x).bits : bfloat16_from(x).bits;
    std::memcpy(to, &bits, sizeof(bits));
    return load_number(to, type);
}

/// The most groups that are processed together: whole vectors of every set.
inline constexpr Index kBatch = 16;
using Batch = float[kBatch];

/// Fills the vectors of `count` numbers.
ROPE_INLINE void fill(Batch& x, Index count, float number) noexcept {
    for (Index i = 0; i < count; i += kLanes) FloatVector::all(number).store(x + i);
}

/// Groups of features: where their numbers, their codes and the numbers beside these are.
struct Groups {
    Index count;
    const float* x[kBatch];
    unsigned char *codes[kBatch], *scales[kBatch], *zeros[kBatch];
};
/// All groups of some heads, a batch at a time, head after head.
class GroupsOfHeads {
 public:
    /// Heads of so many groups, whose codes take code_bytes each.
    ROPE_INLINE GroupsOfHeads(const float* x, Index stride, Index heads, Index head_dim, Index groups, Index code_bytes,
                              const FormatHeads& to) noexcept
        : x_(x),
          codes_(to.row.codes),
          scales_(to.row.scales.data),
          zeros_(to.row.zeros.data),
          groups_(groups),
          left_(heads * groups),
          width_(groups == 1 ? head_dim : head_dim / groups),
          code_bytes_(code_bytes),
          scale_step_(to.row.scales.count == 1 ? 0 : to.row.scales.step),
          zero_step_(to.row.zeros.count == 1 ? 0 : to.row.zeros.step) {
        x_jump_ = stride - (groups - 1) * width_;
        code_jump_ = to.codes - (groups - 1) * code_bytes;
        scale_jump_ = to.scales - (groups - 1) * scale_step_;
        zero_jump_ = to.zeros - (groups - 1) * zero_step_;
    }
    ROPE_INLINE Index width() const noexcept { return width_; }
    ROPE_INLINE bool next(Groups& g) noexcept {
        g.count = left_ < kBatch ? left_ : kBatch;
        left_ -= g.count;
        for (Index i = 0; i < g.count; ++i) {
            g.x[i] = x_;
            g.codes[i] = codes_;
            g.scales[i] = scales_;
            g.zeros[i] = zeros_;
            const bool is_last = ++in_head_ == groups_;
            if (is_last) in_head_ = 0;
            x_ += is_last ? x_jump_ : width_;
            codes_ += is_last ? code_jump_ : code_bytes_;
            scales_ += is_last ? scale_jump_ : scale_step_;
            zeros_ += is_last ? zero_jump_ : zero_step_;
        }
        return g.count > 0;
    }

 private:
    const float* x_;
    unsigned char *codes_, *scales_, *zeros_;
    Index groups_, left_, width_, code_bytes_, scale_step_, zero_step_;
    Index x_jump_, code_jump_, scale_jump_, zero_jump_, in_head_ = 0;
};

template <class T, class V = FloatVector>
ROPE_INLINE void load_rounded(unsigned char* const* at, Index count, Batch& to) noexcept {
    T numbers[kBatch] = {};
    for (Index i = 0; i < count; ++i) std::memcpy(numbers + i, at[i], sizeof(T));
    for (Index i = 0; i < count; i += kLanes) V::load(numbers + i).store(to + i);
}
ROPE_NOINLINE void load_others(ElementType type, unsigned char* const* at, Index count, Batch& to) noexcept {
    if constexpr (kLanes > 1) {
        if (type == ElementType::f16) return load_rounded<half>(at, count, to);
        if (type == ElementType::bf16) return load_rounded<bfloat16>(at, count, to);
    }
    for (Index i = 0; i < count; ++i) to[i] = load_number(at[i], type);
}
ROPE_INLINE void load_numbers(ElementType type, unsigned char* const* at, Index count, Batch& to) noexcept {
    if (type != ElementType::f32) return load_others(type, at, count, to);
    for (Index i = 0; i < count; ++i) std::memcpy(to + i, at[i], sizeof(float));
}
/// The same for 16-bit types.
template <class T, class V = FloatVector>
ROPE_INLINE void store_rounded(unsigned char* const* at, Index count, Batch& x) noexcept {
    T rounded[kBatch];
    for (Index i = 0; i < count; i += kLanes) V::load(x + i).store(rounded + i);
    for (Index i = 0; i < count; i += kLanes) V::load(rounded + i).store(x + i);
    for (Index i = 0; i < count; ++i) std::memcpy(at[i], rounded + i, sizeof(T));
}
ROPE_NOINLINE void store_others(ElementType type, unsigned char* const* at, Index count, Batch& x) noexcept {
    if constexpr (kLanes > 1) {
        if (type == ElementType::f16) return store_rounded<half>(at, count, x);
        if (type == ElementType::bf16) return store_rounded<bfloat16>(at, count, x);
    }
    for (Index i = 0; i < count; ++i) x[i] = put_number(at[i], type, x[i]);
}
/// Stores numbers, rounded to their type, and leaves them in x as they were stored.
ROPE_INLINE void store_numbers(ElementType type, unsigned char* const* at, Index count, Batch& x) noexcept {
    if (type != ElementType::f32) return store_others(type, at, count, x);
    for (Index i = 0; i < count; ++i) std::memcpy(at[i], x + i, sizeof(float));
}

/// One number for all features, and an array of one for each feature of a piece.
struct Same {
    FloatVector v;
    ROPE_INLINE FloatVector at(Index) const noexcept { return v; }
};
struct Each {
    const float* numbers;
    ROPE_INLINE FloatVector at(Index i) const noexcept { return FloatVector::load(numbers + i); }
};

/// Copies of 16-bit floats as floats.
template <class T, class V = FloatVector>
ROPE_INLINE void widen(const unsigned char* from, Index count, float* to) noexcept {
    T x[V::kWidth];
    for (Index i = 0; i < count; i += V::kWidth) {
        std::memcpy(x, from + i * 2, sizeof(x));
        if constexpr (V::kWidth == 1)
            to[i] = float_from(x[0]);
        else
            V::load(x).store(to + i);
    }
}
ROPE_NOINLINE void spread_into(const NumbersBeside& n, Index head_dim, Index first, Index count, bool is_row,
                               float (&to)[kPiece]) noexcept {
    const Index width = head_dim / n.count;
    if (is_row && n.type == ElementType::f16 && n.step == 2) return widen<half>(n.data + first * 2, count, to);
    if (is_row && n.type == ElementType::bf16 && n.step == 2) return widen<bfloat16>(n.data + first * 2, count, to);
    Index i = 0;
    for (Index end; i < count; i = end) {
        const Index number = (first + i) / width;
        end = (number + 1) * width - first;
        if (end > count) end = count;
        const float x = number_at(n, number);
        Index k = i;
        for (; k + kLanes <= end; k += kLanes) FloatVector::all(x).store(to + k);
        for (; k < end; ++k) to[k] = x;
    }
    for (; i < kPiece && i % (2 * kLanes) != 0; ++i) to[i] = to[i - 1];
}
/// The numbers of `count` features from `first` on, of a head of head_dim, in whole vectors: the last ones may be any.
/// Where they are, if they are floats in a row, or in `room`.
ROPE_INLINE const float* spread(const NumbersBeside& n, Index head_dim, Index first, Index count,
                                float (&room)[kPiece]) noexcept {
    const bool is_row = n.count == head_dim && count % (2 * kLanes) == 0;
    const unsigned char* const from = n.data + first * n.step;
    if (is_row && n.type == ElementType::f32 && n.step == 4)
        return static_cast<const float*>(static_cast<const void*>(from));
    spread_into(n, head_dim, first, count, is_row, room);
    return room;
}

}  // namespace ROPE_ISA
ROPE_DETAIL_END
