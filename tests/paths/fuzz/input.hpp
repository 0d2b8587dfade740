// SPDX-License-Identifier: MIT
// Bytes as paths of a call, its rows and positions: usual ones, and for each argument now and then what it should not be.
#pragma once

#include <rope/compact_cos_sin_cache.hpp>
#include <rope/core.hpp>
#include <rope/heads.hpp>
#include <rope/wrapped_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <limits>
#include <map>
#include <type_traits>
#include <vector>

#include "memory.hpp"

namespace fuzz {

using rope::Layout;

/// The extents that all paths of a call should have.
struct Shape {
    Index batch, seq, heads, head_dim;
};

/// Reads an input, and owns what paths refer to.
template <class X>
class Input {
 public:
    using T = std::conditional_t<sizeof(X) == 8, double, float>;

    explicit Input(Bytes& bytes) : bytes_(bytes), memory(bytes) {
        const Index dims[] = {64, 2, 4, 8, 32, 34, 96, 130, 1, 0, 7, 2048, 2049};
        shape_ = {1 + bytes.below(3), bytes.below(6), 1 + bytes.below(5), bytes.of(dims)};
        if (bytes.one_in(20)) shape_.batch = bytes.hostile();
        const Index count = 1 + bytes.below(3);
        for (Index i = 0; i < count; ++i) paths.push_back(path());
        positions_ = positions();
    }

    /// Whether the reference lacks something of these paths: squares from elsewhere, and rows of each head.
    bool is_beyond_reference(const rope::CosSinRows<T>& rows) const {
        return has_squares_ || has_heads_ || rope::detail::RowsAccess::heads(rows) != 0;
    }

    const rope::Positions& where() const { return positions_; }
    const rope::CosSinRows<T>& rows() {
        const Index dims[] = {64, 2, 4, 8, 32, 34, 96, 130};
        rope::Config config;
        config.head_dim = bytes_.one_in(4) || shape_.head_dim % 2 != 0 || shape_.head_dim < 2 || shape_.head_dim > 2048
                              ? bytes_.of(dims)
                              : shape_.head_dim;
        const Index kind = bytes_.below(5);
        if (kind == 1 && config.head_dim > 4) {
            config.rotary_dim = 4;
            config.rotary_offset = config.head_dim - 4;
        }
        if (kind == 2) {  // rows of any numbers, for the tokens of batch entries
            const Index batch = 1 + bytes_.below(3), count = 1 + bytes_.below(5), pairs = config.head_dim / 2;
            const auto& table = tables_.emplace_back(static_cast<std::size_t>(batch * count * 2 * pairs), T(0.75));
            wrapped_.emplace_back(
                rope::CosSinView<T>{table.data(), table.data() + pairs, count, pairs, batch, 2 * pairs},
                rope::HeadSlice{config.head_dim, 0});
            return wrapped_.back();
        }
        if (kind == 4) {  // and for each head
            has_heads_ = true;
            const Index batch = 1 + bytes_.below(2), count = 1 + bytes_.below(5), pairs = config.head_dim / 2;
            const Index heads =
                bytes_.one_in(3) ? 1 + bytes_.below(3) : std::max<Index>(1, std::min<Index>(shape_.heads, 9));
            const auto& table =
                tables_.emplace_back(static_cast<std::size_t>(batch * count * heads * 2 * pairs), T(0.75));
            const bool is_heads_first = bytes_.one_in(2);
            rope::CosSinView<T> view = {table.data(), table.data() + pairs, count, pairs, batch};
            view.row_stride = is_heads_first ? 2 * pairs : heads * 2 * pairs;
            view.heads = heads;
            view.head_stride = is_heads_first ? count * 2 * pairs : 2 * pairs;
            wrapped_.emplace_back(view, rope::HeadSlice{config.head_dim, 0});
            return wrapped_.back();
        }
        if (kind == 3) {
            static std::map<Index, rope::CompactCosSinCache<T>> compact;
            return compact.try_emplace(config.head_dim, config, 1000).first->second;
        }
        static std::map<Index, rope::CosSinCache<T>> tables;
        return tables.try_emplace(2 * config.head_dim + kind, config, 40).first->second;
    }

 private:
    template <class Y>
    rope::TensorView<Y> view(Shape shape, bool is_flat = false) {
        if (bytes_.one_in(30)) {
            Index* const extents[] = {&shape.batch, &shape.seq, &shape.heads, &shape.head_dim};
            *bytes_.of(extents) = bytes_.one_in(2) ? bytes_.hostile() : bytes_.below(5);
        }
        const Index gaps[] = {0, 0, 0, 1, 3};
        rope::TensorView<Y> v = {nullptr, shape.batch, shape.seq, shape.heads, shape.head_dim, 0, 0, 0, 1};
        if (!is_flat && bytes_.one_in(8)) v.feature_stride = bytes_.one_in(2) ? -1 : 2;
        const auto times = [](Index a, Index b) {
            return rope::detail::clamped_product(std::abs(std::max(a, -kMost)), std::abs(std::max(b, -kMost)));
        };
        const auto plus = [](Index a, Index b) { return a > kMost - b ? kMost : a + b; };
        v.head_stride = plus(times(v.head_dim, v.feature_stride), bytes_.of(gaps));
        v.seq_stride = plus(times(v.heads, v.head_stride), bytes_.of(gaps));
        v.batch_stride = times(v.seq, v.seq_stride);
        if (bytes_.one_in(4)) {  // heads first
            v.seq_stride = v.head_stride;
            v.head_stride = times(v.seq, v.seq_stride);
        }
        Index* const strides[] = {&v.batch_stride, &v.seq_stride, &v.head_stride, &v.feature_stride};
        if (bytes_.one_in(16)) *bytes_.of(strides) = bytes_.below(3) - 1;
        if (bytes_.one_in(16)) *bytes_.of(strides) = bytes_.hostile();
        if (bytes_.one_in(2)) {  // beside one element, any stride
            const Index extents[] = {v.batch, v.seq, v.heads, v.head_dim};
            for (int axis = 0; axis < 4; ++axis)
                if (extents[axis] == 1) *strides[axis] = bytes_.hostile();
        }
        if (!bytes_.one_in(40)) v.data = static_cast<Y*>(memory.place(rope::detail::in_memory(v)));
        return v;
    }
    template <class Y>
    rope::Path heads_of() {
        if (bytes_.one_in(10)) return rope::heads(rope::TensorView<const Y>(view<Y>(shape_)));
        return rope::heads(view<Y>(shape_));
    }

    template <class Y>
    rope::StepNumbers numbers_of() {
        const Index kind = bytes_.below(8);
        if (kind < 2) {  // a pointer: as many numbers as a norm over a token may read
            const Index count = rope::detail::clamped_product(std::max<Index>(shape_.heads, 1), shape_.head_dim);
            const auto v = rope::TensorView<Y>{nullptr, 1, 1, 1, count, 0, 0, 0, 1};
            return static_cast<const Y*>(memory.place(rope::detail::in_memory(v)));
        }
        if (kind == 2) return nullptr;
        if (kind == 3 && sizeof(Y) == sizeof(T)) {
            const Index counts[] = {shape_.head_dim, shape_.heads * shape_.head_dim, 0, 5};
            lists_.emplace_back(static_cast<std::size_t>(std::min<Index>(bytes_.of(counts), 20000)), T(0.5));
            return lists_.back();
        }
        Shape shape = {1, 1, 1, 1};
        if (bytes_.one_in(3)) shape.batch = shape_.batch;
        if (bytes_.one_in(3)) shape.seq = shape_.seq;
        if (bytes_.one_in(2)) shape.heads = shape_.heads;
        if (bytes_.one_in(2)) shape.head_dim = shape_.head_dim;
        return view<Y>(shape);
    }
    rope::StepNumbers numbers() {
        const Index kind = bytes_.below(8);
        if (kind == 7) return numbers_of<std::conditional_t<sizeof(X) == 8, float, double>>();  // which is refused
        if (sizeof(X) == 8) return numbers_of<double>();
        return kind < 4 ? numbers_of<float>() : kind < 6 ? numbers_of<rope::half>() : numbers_of<rope::bfloat16>();
    }

    void add_step(rope::Path& p) {
        rope::NormOptions options;
        const Index choices = bytes_.next();
        if (choices % 64 == 1) {  // over a token, by squares from elsewhere
            has_squares_ = true;
            options.squares = view<double>({shape_.batch, shape_.seq, 1, 1});
            options.all_heads = bytes_.one_in(4) ? bytes_.hostile() : shape_.heads + bytes_.below(3);
        }
        options.over = static_cast<rope::NormSpan>(choices % 16 == 15 ? 2 : choices % 2);
        options.rounding = static_cast<rope::NormRounding>(choices / 16 == 15 ? 3 : choices / 16 % 3);
        options.adds_one = choices / 2 % 4 == 3;
        const auto rounding = static_cast<rope::RotateRounding>(choices == 255 ? 3 : choices % 3);
        switch (bytes_.below(12)) {
            case 0: p.add(numbers()); break;
            case 1: p.clamp(bytes_.number()); break;
            case 2: p.multiply(bytes_.number()); break;
            case 3: p.multiply(numbers()); break;
            case 4: p.rms_norm(numbers(), bytes_.number(), options); break;
            case 5: p.l2_norm(numbers(), bytes_.number(), options); break;
            case 6: p.layer_norm(numbers(), numbers(), bytes_.number(), options); break;
            case 7: p.rotate(rounding); break;
            case 8: p.rotate_back(rounding); break;
            case 11: {
                const rope::CosSinRows<T>& own = rows();
                p.rotate(own, positions(), rounding);
                break;
            }
            case 9: p.rotate_into(static_cast<Layout>(choices / 3 % 5 == 4 ? 2 : choices / 3 % 2), rounding); break;
            default: p.hadamard(bytes_.one_in(4) ? bytes_.hostile() : Index(1) << bytes_.below(8)).round();
        }
    }

    /// Slots of every token; some wrong, some equal.
    template <class Slot, class Y>
    rope::Paged<Y> with_slots(const rope::Paged<Y>& pages) {
        Index count = rope::detail::clamped_product(shape_.batch, shape_.seq);
        if (count < 0 || count > 64 || bytes_.one_in(20)) count = bytes_.below(4);
        const Index stride = 1 + bytes_.below(2);
        auto& list = slots_.emplace_back(static_cast<std::size_t>(count * stride * 8) + 8);
        Slot* const slots = reinterpret_cast<Slot*>(list.data());
        for (Index i = 0; i < count; ++i) slots[i * stride] = static_cast<Slot>(first_slot_ + i);
        for (Index i = 0; i < count && bytes_.one_in(4); ++i)
            slots[bytes_.below(count) * stride] =
                static_cast<Slot>(bytes_.one_in(3) ? bytes_.hostile() : bytes_.below(12) - 1);
        return pages.with_slots(slots, count, count < 2 ? bytes_.hostile() : stride);
    }
    template <class Y>
    rope::Destination place(Index width, bool is_flat) {
        Shape shape = shape_;
        shape.head_dim = width;
        if (!is_paged_) return view<Y>(shape, is_flat);
        shape.batch = 1 + bytes_.below(4);
        shape.seq = page_size_;
        const rope::TensorView<Y> v = view<Y>(shape, is_flat);
        rope::Paged<Y> pages;
        pages.data = v.data;
        pages.pages = v.batch;
        pages.page_size = v.seq;
        pages.heads = v.heads;
        pages.head_dim = v.head_dim;
        pages.page_stride = v.batch_stride;
        pages.place_stride = v.seq_stride;
        pages.head_stride = v.head_stride;
        pages.feature_stride = v.feature_stride;
        return bytes_.one_in(2) ? with_slots<std::int8_t>(pages) : with_slots<std::int64_t>(pages);
    }
    rope::Destination destination() {
        is_paged_ = bytes_.one_in(2);
        page_size_ = 1 + bytes_.below(5);
        first_slot_ = bytes_.below(4) - 1;
        const Index d = shape_.head_dim;
        const auto codes = [&](Index width) { return place<unsigned char>(width, true); };
        const auto scales = [&] { return place<float>(1, false); };
        const auto use = bytes_.one_in(2) ? rope::ScaleUse::divides : rope::ScaleUse::multiplies;
        const float factors[] = {0.7f,
                                 1.0f,
                                 3e38f,
                                 1e-45f,
                                 0.0f,
                                 -1.0f,
                                 std::numeric_limits<float>::infinity(),
                                 std::numeric_limits<float>::quiet_NaN()};
        const auto in_blocks = [&](Index bytes) { return codes(d / 32 * bytes); };
        const bool is_whole = bytes_.one_in(4);
        switch (bytes_.below(28)) {
            case 0: return place<double>(d, false);
            case 1: return place<rope::half>(d, false);
            case 2: return place<rope::bfloat16>(d, false);
            case 3: return rope::int8(place<signed char>(d, true), scales());
            case 4: return rope::uint8(codes(d), scales(), scales());
            case 5: return rope::uint4(codes(d / 2), scales(), scales());
            case 6: return rope::fp8_e4m3(codes(d), bytes_.of(factors), use);
            case 7: return rope::fp8_e5m2(codes(d), bytes_.of(factors), use);
            case 8: return rope::fp8_e4m3(codes(d), parameter(is_whole));
            case 9: return rope::fp8_e4m3(codes(d), codes(1));
            case 10: return rope::q8_0(in_blocks(34));
            case 11: return rope::q4_0(in_blocks(18));
            case 12: return rope::int8(scales(), codes(d));  // which is refused
            case 13: return rope::int8(place<signed char>(d, true), parameter(false));
            case 14: return rope::int8(place<signed char>(d, true), parameter(false), parameter(is_whole));
            case 15: return rope::uint8(codes(d), parameter(false), parameter(is_whole));
            case 16: return rope::int4(codes(d / 2), parameter(false));
            case 17: return rope::int4(codes(d / 2), parameter(false), parameter(is_whole));
            case 18: return rope::uint4(codes(d / 2), parameter(false), rope::zero_points(parameter(is_whole)));
            case 19: return rope::mxfp4(codes(d / 2), codes(d / 32));
            case 20: return rope::nvfp4(codes(d / 2), codes(d / 16), bytes_.of(factors));
            case 21: return rope::q4_1(in_blocks(20));
            case 22: return rope::q5_0(in_blocks(22));
            case 23: return rope::q5_1(in_blocks(24));
            case 24: return rope::iq4_nl(in_blocks(18));
            case 25: return rope::mxfp4(in_blocks(17));
            default: return place<float>(d, false);
        }
    }
    /// Scales or zeros of every kind; whole numbers are zeros.
    rope::QuantParameter parameter(bool is_whole) {
        const Index d = shape_.head_dim, choice = bytes_.below(12);
        const Index groups[] = {1, 1, 2, 4, d, d / 2, d / 32, 3};
        const Index count = bytes_.of(groups);
        if (choice == 0) return rope::given(bytes_.number());
        if (choice == 1) return rope::given(static_cast<int>(bytes_.next()) - 128);
        if (choice < 5) {  // in memory
            Shape shape = shape_;
            shape.head_dim = count;
            if (bytes_.one_in(2)) shape.batch = 1;
            if (bytes_.one_in(2)) shape.seq = 1;
            if (bytes_.one_in(2)) shape.heads = 1;
            if (is_whole) return rope::given(view<unsigned char>(shape));
            if (choice == 2) return rope::given(view<rope::half>(shape));
            return choice == 3 ? rope::given(view<float>(shape)) : rope::given(view<rope::bfloat16>(shape));
        }
        if (is_whole) return choice < 8 ? place<signed char>(count, false) : place<unsigned char>(count, false);
        if (choice == 5) return place<rope::half>(count, false);
        return choice == 6 ? place<rope::bfloat16>(count, false) : place<float>(count, false);
    }
    rope::Path path() {
        const Index kind = bytes_.below(40);
        rope::Path p = kind >= 36 && kind < 39 && !begins_.empty() ? begins_.back()
                       : kind == 39 ? heads_of<std::conditional_t<sizeof(X) == 8, float, double>>()
                       : kind < 10 ? rope::heads(sizeof(X) == 8 ? place<double>(shape_.head_dim, false) : destination())
                                   : heads_of<X>();
        begins_.push_back(p);
        const Index steps = bytes_.one_in(20) ? 9 : bytes_.below(6);
        for (Index i = 0; i < steps; ++i) add_step(p);
        const Shape whole = shape_;
        if (bytes_.one_in(8)) {
            const Index first = bytes_.one_in(8) ? bytes_.hostile() : bytes_.below(3) * 32,
                        count = bytes_.below(3) * 32;
            p.slice_features(first, bytes_.one_in(8) ? bytes_.hostile() : count);
            shape_.head_dim = count;
        }
        add_destination(p);
        shape_ = whole;
        return p;
    }
    void add_destination(rope::Path& p) {
        if (bytes_.one_in(3)) return;  // in place
        p.to(sizeof(X) == 8 && !bytes_.one_in(8) ? place<double>(shape_.head_dim, false) : destination());
    }
    rope::Positions positions() {
        const Index kind = bytes_.below(4), start = bytes_.one_in(8) ? bytes_.hostile() : bytes_.below(36);
        if (kind == 0) return rope::start_at(start);
        const Index tokens = rope::detail::clamped_product(shape_.batch, shape_.seq);
        Index count = kind == 1 ? shape_.batch : kind == 2 ? shape_.seq : tokens;
        if (count < 0 || count > 64) count = 3;
        std::vector<Index>& ids = ids_.emplace_back(static_cast<std::size_t>(count + (bytes_.one_in(20) ? 1 : 0)));
        for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = start % 30 + static_cast<Index>(i % 7);
        if (!ids.empty() && bytes_.one_in(6)) ids.back() = bytes_.hostile();
        return kind == 1 ? rope::start_at(ids) : rope::Positions(ids);
    }

    Bytes& bytes_;

 public:
    Memory memory;
    std::vector<rope::Path> paths;

 private:
    Shape shape_;
    bool is_paged_ = false;
    Index page_size_ = 1, first_slot_ = 0;
    std::deque<std::vector<T>> lists_;
    std::deque<std::vector<std::uint64_t>> slots_;
    std::deque<std::vector<Index>> ids_;
    std::vector<rope::Path> begins_;
    bool has_squares_ = false, has_heads_ = false;
    rope::Positions positions_;
    std::deque<std::vector<T>> tables_;
    std::deque<rope::WrappedRows<T>> wrapped_;
};

}  // namespace fuzz
