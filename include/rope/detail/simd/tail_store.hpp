// SPDX-License-Identifier: MIT
// The last vector of a row, whose first `kept` elements stay as they are: for sets without masks, which load these
// elements and store them again. No include guard: registers.hpp of such a set includes this file.

ROPE_DETAIL_BEGIN
namespace ROPE_ISA {

ROPE_INLINE void store_skipping_bytes(void* p, Words x, Index kept) noexcept {
    store_words(p, blend(load_words(tail_mask(kept)), x, load_words(p)));
}
ROPE_INLINE void store_skipping_first(float* p, Floats x, Index kept) noexcept {
    store_skipping_bytes(p, words(x), kept * static_cast<Index>(sizeof(float)));
}
ROPE_INLINE void store_skipping_first(double* p, Doubles x, Index kept) noexcept {
    store_skipping_bytes(p, words(x), kept * static_cast<Index>(sizeof(double)));
}
ROPE_INLINE void store_words_skipping_first(void* p, Words x, Index kept) noexcept {
    store_skipping_bytes(p, x, 2 * kept);
}
ROPE_INLINE void store_shorts_skipping_first(void* p, Shorts x, Index kept) noexcept {
    store_shorts(p, blend(load_shorts(tail_mask(2 * kept)), x, load_shorts(p)));
}

}  // namespace ROPE_ISA
ROPE_DETAIL_END
