// SPDX-License-Identifier: MIT
// Buffers whose view has any strides, with a fence of sentinels wherever the view does not reach.
#pragma once

#include <rope/core.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "data.hpp"

namespace support {

/// How a [batch, seq, heads, head_dim] tensor lies in memory: the axes from the outermost to the innermost,
/// how many elements lie between two steps of the innermost, a gap after each step of the others, and which
/// run backwards.
struct MemoryOrder {
    std::array<int, 4> outer_to_inner = {0, 1, 2, 3};
    Index inner_stride = 1;
    Index gap = 0;
    std::array<bool, 4> backwards = {false, false, false, false};
};

template <class T>
class StridedTensor {
 public:
    StridedTensor(std::array<Index, 4> extents, const MemoryOrder& order) {
        std::array<Index, 4> strides{};
        Index stride = order.inner_stride;
        Index origin = kFence;
        for (int step = 3; step >= 0; --step) {
            const std::size_t axis = static_cast<std::size_t>(order.outer_to_inner[static_cast<std::size_t>(step)]);
            strides[axis] = order.backwards[axis] ? -stride : stride;
            if (order.backwards[axis]) origin += stride * (extents[axis] - 1);
            stride = stride * std::max<Index>(extents[axis], 1) + (step == 0 ? 0 : order.gap);
        }
        memory_.assign(size(stride + 2 * kFence), from_double<T>(12345.0));
        view_ = {memory_.data() + origin,
                 extents[0],
                 extents[1],
                 extents[2],
                 extents[3],
                 strides[0],
                 strides[1],
                 strides[2],
                 strides[3]};
    }
    StridedTensor(const StridedTensor&) = delete;
    StridedTensor& operator=(const StridedTensor&) = delete;

    const rope::TensorView<T>& view() const { return view_; }

    /// Elements in the order (b, s, h, j), so that tensors of different strides can be compared.
    std::vector<T> elements() const {
        std::vector<T> list;
        for_each([&](T& x) { list.push_back(x); });
        return list;
    }
    void set(const std::vector<T>& values) {
        auto next = values.begin();
        for_each([&](T& x) { x = *next++; });
    }
    /// True while every element that the view does not reach still holds the sentinel.
    bool fence_is_intact() {
        std::vector<T> copy = memory_;
        const T sentinel = from_double<T>(12345.0);
        const T* const begin = memory_.data();
        for_each([&](T& x) { copy[static_cast<std::size_t>(&x - begin)] = sentinel; });
        return std::all_of(copy.begin(), copy.end(),
                           [&](const T& x) { return std::memcmp(&x, &sentinel, sizeof(T)) == 0; });
    }

 private:
    static constexpr Index kFence = 16;

    template <class F>
    void for_each(F&& f) const {
        for (Index b = 0; b < view_.batch; ++b)
            for (Index s = 0; s < view_.seq; ++s)
                for (Index h = 0; h < view_.heads; ++h)
                    for (Index j = 0; j < view_.head_dim; ++j) f(view_(b, s, h, j));
    }

    std::vector<T> memory_;
    rope::TensorView<T> view_;
};

/// Every order of the four axes, some with an inner stride, gaps and backward axes.
inline std::vector<MemoryOrder> memory_orders() {
    std::vector<MemoryOrder> list;
    std::array<int, 4> axes = {0, 1, 2, 3};
    do {
        MemoryOrder order;
        order.outer_to_inner = axes;
        list.push_back(order);
        order.gap = 5;
        order.inner_stride = 3;
        list.push_back(order);
        order.inner_stride = 1;
        order.backwards = {axes[0] == 1, true, axes[1] == 2, axes[3] != 3};
        list.push_back(order);
    } while (std::next_permutation(axes.begin(), axes.end()));
    return list;
}

}  // namespace support
