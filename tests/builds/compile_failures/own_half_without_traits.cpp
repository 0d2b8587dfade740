// SPDX-License-Identifier: MIT
// expect: or a type for which rope::ElementTraits names one of these
#include <rope/rope.hpp>

// As a compiler's _Float16 is, where it is none of the types that types.hpp asks for.
struct Own {
    unsigned short bits;
};

void user(Own* q, const rope::CosSinCache<float>& cache) {
    rope::apply<rope::Layout::half_split>(rope::view(q, 1, 1, 8), cache);
}
