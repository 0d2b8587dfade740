// SPDX-License-Identifier: MIT
// The operands of a pass - sources, numbers of steps, slots, elements, codes, scales and zeros - begin, and then end, at
// a page that may not be touched, and dequantise reads them there. The results are those of ordinary memory.
#include <rope/apply.hpp>
#include <rope/heads.hpp>

#include <cstring>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/guarded.hpp"
#include "support/isas.hpp"

using rope::Index;
using support::Guard;
using support::GuardedMemory;
using support::size;

namespace {

constexpr auto kLayout = rope::Layout::half_split;
constexpr Index kSeq = 3, kHeads = 3, kPages = 2, kPageSize = 2, kPlaces = kPages * kPageSize;
constexpr std::size_t kRoom = 1 << 16, kOperands = 14;

enum class Kind {
    floats,
    narrow,
    int8,
    int8_groups,
    int8_given,
    uint8,
    uint8_codes,
    int4,
    uint4,
    uint4_given,
    e4m3,
    e5m2,
    e4m3_by_head,
    e4m3_given,
    e4m3_by_power,
    mxfp4,
    nvfp4,
    q8_0,
    q4_0,
    q4_1,
    q5_0,
    q5_1,
    iq4_nl,
    ggml_mxfp4,
    count
};

/// Bytes of ggml's block, or 0.
Index block_bytes(Kind kind) {
    switch (kind) {
        case Kind::q8_0: return 34;
        case Kind::q4_0:
        case Kind::iq4_nl: return 18;
        case Kind::q4_1: return 20;
        case Kind::q5_0: return 22;
        case Kind::q5_1: return 24;
        case Kind::ggml_mxfp4: return 17;
        default: return 0;
    }
}
/// Bytes of a head; 0 where the format has none of so many features.
Index width_of(Kind kind, Index head_dim) {
    const bool has_blocks = head_dim % 32 == 0;
    if (block_bytes(kind) > 0) return has_blocks ? head_dim / 32 * block_bytes(kind) : 0;
    switch (kind) {
        case Kind::floats: return 4 * head_dim;
        case Kind::narrow: return 2 * head_dim;
        case Kind::int4:
        case Kind::uint4:
        case Kind::uint4_given: return head_dim % 2 == 0 ? head_dim / 2 : 0;
        case Kind::mxfp4: return has_blocks ? head_dim / 2 : 0;
        case Kind::nvfp4: return head_dim % 16 == 0 ? head_dim / 2 : 0;
        default: return head_dim;
    }
}

/// All operands, each behind pages of its own, or in ordinary memory.
template <class X>
class Operands {
 public:
    Operands(Index head_dim, Kind kind, const Guard* guard) : head_dim_(head_dim), kind_(kind) {
        const std::vector<X> x = support::normal<X>(kSeq * kHeads * head_dim, 1);
        const std::vector<rope::half> w = support::normal<rope::half>(kHeads * head_dim, 2);
        const std::vector<float> b = support::normal<float>(head_dim, 3), factors = support::normal<float>(kSeq, 4);
        x_ = place(0, x, guard);
        w_ = place(1, w, guard);
        b_ = place(2, b, guard);
        factors_ = place(3, factors, guard);
        slots_.first = place(4, std::vector<int>{3, -1, 0}, guard);
        codes_ = place(5, std::vector<unsigned char>(codes()), guard);
        scales_ = place(6, std::vector<float>(size(kPlaces * kHeads * groups())), guard);
        zeros_ = place(7, std::vector<float>(size(kPlaces * kHeads * groups())), guard);
        powers_ = place(8, std::vector<unsigned char>(size(kPlaces * kHeads * groups())), guard);
        halves_ = place(12, std::vector<rope::half>(size(kPlaces * kHeads * groups())), guard);
        std::vector<float> given(size(head_dim));
        for (Index i = 0; i < head_dim; ++i) given[size(i)] = 0.01f * static_cast<float>(i % 5 + 1);
        given_ = place(13, given, guard);
        back_ = place(9, std::vector<float>(x.size(), 7.0f), guard);
        part_ = place(10, std::vector<float>(size(kSeq * kHeads * (head_dim - 1)), 7.0f), guard);
        sums_ = place(11, std::vector<double>(size(kSeq), 7.0), guard);
    }

    rope::Path path() const {
        rope::Path p = rope::heads(rope::view(x_, kSeq, kHeads, head_dim_));
        p.add(b_).rms_norm(rope::view(w_, 1, 1, kHeads, head_dim_), 1e-5);
        if (head_dim_ == 64) p.hadamard();
        return p.rotate()
            .layer_norm(nullptr, rope::view(b_, 1, 1, 1, head_dim_), 1e-5, {rope::NormSpan::token})
            .multiply(rope::view(factors_, 1, kSeq, 1, 1))
            .to(destination());
    }
    rope::Destination destination() const {
        const auto pages = [&](auto* p, Index width) {
            return rope::paged(p, kPages, kPageSize, kHeads, width, slots_);
        };
        const rope::Paged<float> scales = pages(scales_, groups()), zeros = pages(zeros_, groups());
        const auto codes = pages(codes_, width_of(kind_, head_dim_)), powers = pages(powers_, groups());
        const auto signed_codes = pages(reinterpret_cast<signed char*>(codes_), head_dim_);
        const rope::TensorView<const float> given = {given_, 1, 1, 1, head_dim_};
        switch (kind_) {
            case Kind::floats: return pages(static_cast<float*>(static_cast<void*>(codes_)), head_dim_);
            case Kind::narrow: return pages(static_cast<rope::bfloat16*>(static_cast<void*>(codes_)), head_dim_);
            case Kind::int8: return rope::int8(signed_codes, scales);
            case Kind::int8_groups: return rope::int8(signed_codes, pages(halves_, groups()));
            case Kind::int8_given: return rope::int8(signed_codes, rope::given(given));
            case Kind::uint8: return rope::uint8(codes, scales, zeros);
            case Kind::uint8_codes: return rope::uint8(codes, scales, powers);
            case Kind::int4: return rope::int4(codes, scales);
            case Kind::uint4: return rope::uint4(codes, scales, zeros);
            case Kind::uint4_given: return rope::uint4(codes, rope::given(given), -1.5f);
            case Kind::e4m3: return rope::fp8_e4m3(codes, 3.0f);
            case Kind::e5m2: return rope::fp8_e5m2(codes, 3.0f, rope::ScaleUse::divides);
            case Kind::e4m3_by_head: return rope::fp8_e4m3(codes, scales);
            case Kind::e4m3_given: return rope::fp8_e4m3(codes, rope::given(given));
            case Kind::e4m3_by_power: return rope::fp8_e4m3(codes, powers);
            case Kind::mxfp4: return rope::mxfp4(codes, powers);
            case Kind::nvfp4: return rope::nvfp4(codes, powers, 0.01f);
            case Kind::q8_0: return rope::q8_0(codes);
            case Kind::q4_0: return rope::q4_0(codes);
            case Kind::q4_1: return rope::q4_1(codes);
            case Kind::q5_0: return rope::q5_0(codes);
            case Kind::q5_1: return rope::q5_1(codes);
            case Kind::iq4_nl: return rope::iq4_nl(codes);
            default: return rope::mxfp4(codes);
        }
    }
    void run(const rope::CosSinCache<float>& cache) const {
        rope::pass<kLayout>(cache, rope::start_at(2), path());
        rope::dequantise(destination(), rope::view(back_, kSeq, kHeads, head_dim_));
        // The cache as a source: moved in place, then read by two paths, one of which takes a part of each head.
        const auto back = rope::view(back_, kSeq, kHeads, head_dim_);
        rope::pass<kLayout>(cache, rope::start_at(1), rope::heads(destination()).rotate());
        rope::pass<kLayout>(cache, rope::start_at(3), rope::heads(destination()).rotate().to(back),
                            rope::heads(destination())
                                .rotate(cache, rope::start_at(0))
                                .slice_features(1, head_dim_ - 1)
                                .to(rope::view(part_, kSeq, kHeads, head_dim_ - 1)));
        rope::sum_squares(rope::heads(destination()), rope::view(sums_, 1, kSeq, 1, 1));
    }
    std::vector<unsigned char> result() const {
        std::vector<unsigned char> all(codes_, codes_ + codes());
        const auto add = [&](const auto* p, Index count) {
            const auto* const bytes = reinterpret_cast<const unsigned char*>(p);
            all.insert(all.end(), bytes, bytes + size(count) * sizeof(*p));
        };
        add(scales_, kPlaces * kHeads * groups());
        add(zeros_, kPlaces * kHeads * groups());
        add(powers_, kPlaces * kHeads * groups());
        add(halves_, kPlaces * kHeads * groups());
        add(back_, kSeq * kHeads * head_dim_);
        add(part_, kSeq * kHeads * (head_dim_ - 1));
        add(sums_, kSeq);
        return all;
    }

 private:
    struct Slots {
        using value_type = int;
        const int* first;
        const int* data() const { return first; }
        std::size_t size() const { return kSeq; }
    };
    /// Scales of a head.
    Index groups() const {
        if (kind_ == Kind::mxfp4) return head_dim_ / 32;
        if (kind_ == Kind::nvfp4) return head_dim_ / 16;
        return head_dim_ % 4 == 0 ? head_dim_ / 4 : 1;
    }
    std::size_t codes() const { return size(kPlaces * kHeads * width_of(kind_, head_dim_)); }

    template <class T>
    T* place(std::size_t i, const std::vector<T>& numbers, const Guard* guard) {
        static GuardedMemory guarded[kOperands] = {GuardedMemory(kRoom), GuardedMemory(kRoom), GuardedMemory(kRoom),
                                                   GuardedMemory(kRoom), GuardedMemory(kRoom), GuardedMemory(kRoom),
                                                   GuardedMemory(kRoom), GuardedMemory(kRoom), GuardedMemory(kRoom),
                                                   GuardedMemory(kRoom), GuardedMemory(kRoom), GuardedMemory(kRoom),
                                                   GuardedMemory(kRoom), GuardedMemory(kRoom)};
        if (guard != nullptr) return guarded[i].put(numbers, *guard);
        ordinary_[i].resize(numbers.size() * sizeof(T) + 64);
        void* const at = ordinary_[i].data() + 32;
        if (!numbers.empty()) std::memcpy(at, numbers.data(), numbers.size() * sizeof(T));
        return static_cast<T*>(at);
    }

    Index head_dim_;
    Kind kind_;
    std::vector<char> ordinary_[kOperands];
    X* x_;
    rope::half* w_;
    float *b_, *factors_, *scales_, *zeros_, *back_, *part_, *given_;
    rope::half* halves_;
    double* sums_;
    Slots slots_ = {nullptr};
    unsigned char *codes_, *powers_;
};

template <class X>
void check_all(Index head_dim) {
    rope::Config config;
    config.head_dim = head_dim;
    const rope::CosSinCache<float> cache(config, 8);
    for (int i = 0; i < static_cast<int>(Kind::count); ++i) {
        const auto kind = static_cast<Kind>(i);
        if (width_of(kind, head_dim) == 0) continue;
        INFO("head_dim " << head_dim << ", destination " << static_cast<int>(kind));
        const Operands<X> ordinary(head_dim, kind, nullptr);
        ordinary.run(cache);
        for (const Guard guard : {Guard::before, Guard::after}) {
            const Operands<X> guarded(head_dim, kind, &guard);
            guarded.run(cache);
            REQUIRE(guarded.result() == ordinary.result());
        }
    }
}

}  // namespace

TEST_CASE("pages that may not be touched, round everything") {
    support::for_each_isa([](const char* name) {
        INFO(name);
        for (const Index head_dim : {2, 6, 10, 30, 32, 34, 64, 66, 96, 130}) {
            check_all<float>(head_dim);
            check_all<rope::bfloat16>(head_dim);
            check_all<rope::half>(head_dim);
        }
    });
}
