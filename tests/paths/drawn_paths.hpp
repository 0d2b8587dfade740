// SPDX-License-Identifier: MIT
// Paths drawn at random, with memory of their own, which can be made twice.
#pragma once

#include <rope/heads.hpp>

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "support/data.hpp"

namespace support {

/// One source, one destination and the numbers of all steps, in a layout that a seed decides. Two worlds of the same
/// seed hold the same bytes at different addresses.
template <class Element>
class DrawnPath {
 public:
    using T = TableOf<Element>;

    DrawnPath(unsigned seed, Index batch, Index seq, Index head_dim) : engine_(seed), seq_(seq) {
        heads_ = draw(1, 9);
        const Index gap = draw(0, 3), extra = draw(0, 2);
        x_ = normal<Element>((batch * seq + 1) * (heads_ * (head_dim + gap) + extra), seed + 1);
        view_ = {x_.data(), batch, seq, heads_, head_dim, 0, 0, head_dim + gap, 1};
        view_.seq_stride = heads_ * view_.head_stride + extra;
        view_.batch_stride = seq * view_.seq_stride;
        for (int i = 0; i < 4; ++i) {
            floats_[i] = normal<T>(batch * seq * heads_ * head_dim, seed + 10 + static_cast<unsigned>(i));
            narrow_[i] = normal<Element>(batch * seq * heads_ * head_dim, seed + 20 + static_cast<unsigned>(i));
        }
        floats_[4] = std::vector<T>(size(batch * seq * heads_ * head_dim), T(7));
        bytes_.assign(size(20 * (batch * seq + 8) * heads_ * (head_dim + 4)), 0x5a);
        slots_.resize(size(batch * seq));
        std::iota(slots_.begin(), slots_.end(), Index(1));
        std::shuffle(slots_.begin(), slots_.end(), engine_);
        if (draw(0, 1) == 0) slots_[0] = -1;
        scales_.assign(size(2 * (batch * seq + 8) * heads_), -3.0f);
    }

    /// A path with steps of its own choice. It rotates at most once.
    rope::Path path(bool may_rotate) {
        rope::Path p = rope::heads(view_);
        const Index steps = draw(0, 5);
        bool rotates = false;
        for (Index i = 0; i < steps; ++i) {
            Index kind = draw(0, 9);
            if (kind >= 7 && (rotates || !may_rotate)) kind = draw(0, 6);
            rotates = rotates || kind >= 7;
            add_step(p, kind);
        }
        add_destination(p);
        return p;
    }

    /// All memory that a path may have written.
    bool has_same_bytes(const DrawnPath& other) const {
        return same_bits(x_, other.x_) && same_bits(bytes_, other.bytes_) && same_bits(scales_, other.scales_) &&
               same_bits(floats_[4], other.floats_[4]);
    }

 private:
    Index draw(Index low, Index high) { return std::uniform_int_distribution<Index>(low, high)(engine_); }

    rope::StepNumbers numbers() {
        const Index i = draw(0, 3);
        const T* const f = floats_[i].data();
        switch (draw(0, 5)) {
            case 0: return f;
            case 1: return narrow_[i].data();
            case 2: return rope::view(f, 1, 1, heads_, view_.head_dim);
            case 3: return rope::view(f, view_.batch, seq_, 1, 1);
            case 4: return rope::view(narrow_[i].data(), view_.batch, seq_, heads_, 1);
            default: return rope::view(f, view_.batch, seq_, heads_, view_.head_dim);
        }
    }
    void add_step(rope::Path& p, Index kind) {
        rope::NormOptions options;
        options.over = draw(0, 3) == 0 ? rope::NormSpan::token : rope::NormSpan::head;
        options.rounding = static_cast<rope::NormRounding>(draw(0, 2));
        options.adds_one = draw(0, 2) == 0;
        switch (kind) {
            case 0: p.add(numbers()); break;
            case 1: p.clamp(1.25); break;
            case 2: draw(0, 1) == 0 ? p.multiply(0.3) : p.multiply(numbers()); break;
            case 3:
                if (draw(0, 2) > 0) return void(p.rms_norm(numbers(), 1e-6, options));
                options.adds_one = false;
                p.rms_norm(1e-5, options);
                break;
            case 4:
                p.layer_norm(numbers(), draw(0, 1) == 0 ? rope::StepNumbers(nullptr) : numbers(), 1e-5, options);
                break;
            case 5:
                if ((view_.head_dim & (view_.head_dim - 1)) == 0) p.hadamard(draw(0, 1) == 0 ? 0 : view_.head_dim / 2);
                break;
            case 6: draw(0, 1) == 0 ? p.round() : p.l2_norm(numbers(), 1e-6, options); break;
            case 7: p.rotate(static_cast<rope::RotateRounding>(draw(0, 2))); break;
            case 8: p.rotate_back(); break;
            default:
                p.rotate_into(draw(0, 1) == 0 ? rope::Layout::interleaved : rope::Layout::half_split,
                              static_cast<rope::RotateRounding>(draw(0, 2)));
                break;
        }
    }
    template <class Out>
    rope::Destination place(Index width, bool contiguous) {
        const Index gap = contiguous ? 0 : draw(0, 2), step = contiguous ? 1 : draw(1, 2);
        Out* const out = static_cast<Out*>(static_cast<void*>(bytes_.data()));
        is_paged_ = draw(0, 1) == 0;
        if (!is_paged_) {
            rope::TensorView<Out> v = {out, view_.batch, seq_, heads_, width, 0, 0, width * step + gap, step};
            v.seq_stride = heads_ * v.head_stride;
            v.batch_stride = seq_ * v.seq_stride;
            return v;
        }
        const Index page = 4, pages = view_.batch * seq_ / page + 1;
        if (draw(0, 1) == 0) return rope::paged(out, pages, page, heads_, width, slots_);
        return rope::paged_heads_first(out, pages, heads_, page, width, slots_);
    }
    /// In pages where the codes are, or they would not skip the same tokens.
    rope::Destination scales(float* memory) {
        const Index page = 4, pages = view_.batch * seq_ / page + 1;
        if (is_paged_) return rope::paged(memory, pages, page, heads_, 1, slots_);
        return rope::view(memory, view_.batch, seq_, heads_, 1);
    }
    void add_destination(rope::Path& p) {
        const Index head_dim = view_.head_dim;
        if constexpr (std::is_same_v<Element, double>) {
            if (draw(0, 2) > 0) p.to(place<double>(head_dim, draw(0, 1) == 0));
        } else {
            float* const other = scales_.data() + scales_.size() / 2;
            rope::Destination codes = rope::view(other, 1, 1, 1);
            switch (draw(0, 11)) {
                case 0: break;  // in place
                case 1: p.to(place<float>(head_dim, true)); break;
                case 2: p.to(place<float>(head_dim, false)); break;
                case 3: p.to(place<rope::half>(head_dim, draw(0, 1) == 0)); break;
                case 4: p.to(place<rope::bfloat16>(head_dim, draw(0, 1) == 0)); break;
                case 5:
                    codes = place<signed char>(head_dim, true);
                    p.to(rope::int8(codes, scales(scales_.data())));
                    break;
                case 6:
                    codes = place<unsigned char>(head_dim, true);
                    p.to(rope::uint8(codes, scales(scales_.data()), scales(other)));
                    break;
                case 7:
                    codes = place<unsigned char>(head_dim / 2, true);
                    p.to(rope::uint4(codes, scales(scales_.data()), scales(other)));
                    break;
                case 8: p.to(rope::fp8_e4m3(place<unsigned char>(head_dim, true), 3.0f)); break;
                case 9:
                    p.to(rope::fp8_e5m2(place<unsigned char>(head_dim, true), 0.7f, rope::ScaleUse::divides));
                    break;
                case 10:
                    codes = place<unsigned char>(head_dim, true);
                    p.to(rope::fp8_e4m3(codes, scales(scales_.data())));
                    break;
                default:
                    if (head_dim % 32 == 0) p.to(rope::q8_0(place<unsigned char>(head_dim / 32 * 34, true)));
            }
        }
    }

    std::mt19937 engine_;
    Index seq_, heads_;
    bool is_paged_ = false;
    std::vector<Element> x_, narrow_[4];
    std::vector<T> floats_[5];
    std::vector<unsigned char> bytes_;
    std::vector<float> scales_;
    std::vector<Index> slots_;
    rope::TensorView<Element> view_;
};

}  // namespace support
