// SPDX-License-Identifier: MIT
// Entries of CosSinCache are m*cos and m*sin of the real angle, rounded about once, at every position; and an
// entry's bits do not depend on the table it stands in. The largest errors are printed.
#include <rope/core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/mpfr.hpp"

namespace {

using rope::Config;
using rope::CosSinCache;
using rope::Index;
using support::Real;
using support::RealCosSin;

constexpr Index kPairs = 64;
constexpr Index kLast31 = 2147483647;

Config config_of(double base, double factor, double attention_factor = 1.0) {
    Config config;
    config.head_dim = 2 * kPairs;
    config.base = base;
    config.interpolation_factor = factor;
    config.attention_factor = attention_factor;
    return config;
}

std::vector<Config> nine_configs() {
    std::vector<Config> configs;
    for (const double base : {1e4, 5e5, 1e6})
        for (const double factor : {1.0, 4.0, 32.0}) configs.push_back(config_of(base, factor));
    return configs;
}

std::vector<Real> real_frequencies(const Config& config) {
    std::vector<Real> w;
    for (Index i = 0; i < kPairs; ++i)
        w.push_back(support::inverse_frequency(config.base, i, config.head_dim, config.interpolation_factor));
    return w;
}

/// The largest error seen and where.
class Worst {
 public:
    Worst(std::string name, int mantissa_bits) : name_(std::move(name)), mantissa_bits_(mantissa_bits) {}

    /// The error is counted in ulp of max(|exact|, m * 2^-10). Where an entry was rounded up to a power of
    /// two its own ulp is twice that, so this is the stricter way to count.
    void add(double entry, const Real& exact, double m, const Config& config, Index position, Index pair) {
        mpfr_sub_d(difference_.get(), exact.get(), entry, MPFR_RNDN);
        mpfr_exp_t exponent = static_cast<mpfr_exp_t>(std::ilogb(m)) - 9;
        if (mpfr_zero_p(exact.get()) == 0) exponent = std::max(exponent, mpfr_get_exp(exact.get()));
        mpfr_mul_2si(difference_.get(), difference_.get(), mantissa_bits_ - exponent, MPFR_RNDN);
        const double error = mpfr_get_d(difference_.get(), MPFR_RNDN);
        std::uint64_t magnitude = 0;
        std::memcpy(&magnitude, &error, sizeof(error));
        magnitude &= ~(std::uint64_t(1) << 63);
        ++count_;
        if (magnitude <= magnitude_) return;
        magnitude_ = magnitude;
        base_ = config.base;
        factor_ = config.interpolation_factor;
        position_ = position;
        pair_ = pair;
    }

    /// Magnitudes are compared as integers, so that a NaN is the largest of all, even with -ffast-math.
    bool within(double bound) const {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &bound, sizeof(bound));
        return count_ > 0 && magnitude_ <= bits;
    }

    void print() const {
        double ulp = 0.0;
        std::memcpy(&ulp, &magnitude_, sizeof(ulp));
        std::printf("%-58s %10.8f ulp  at position %lld, pair %lld, base %g, factor %g  (%llu entries)\n",
                    name_.c_str(), ulp, static_cast<long long>(position_), static_cast<long long>(pair_), base_,
                    factor_, static_cast<unsigned long long>(count_));
        std::fflush(stdout);
    }

 private:
    std::string name_;
    int mantissa_bits_;
    Real difference_;
    std::uint64_t magnitude_ = 0;
    std::uint64_t count_ = 0;
    double base_ = 0.0, factor_ = 0.0;
    Index position_ = 0, pair_ = 0;
};

/// Both table types, over one set of positions. The bound in double holds below 2^22; what lies beyond is
/// printed only.
struct Both {
    explicit Both(const std::string& set)
        : in_float("float, " + set, 24),
          in_double("double, " + set, 53),
          in_double_far("double, " + set + ", from 2^22 on", 53) {}

    Worst in_float, in_double, in_double_far;
    bool any_near = false, any_far = false;

    void add(const CosSinCache<float>& f, const CosSinCache<double>& d, Index position, Index column,
             const RealCosSin& exact, const Config& config, Index pair) {
        const std::size_t i = support::size(column);
        const double m = config.attention_factor;
        in_float.add(static_cast<double>(f.cos_row(position)[i]), exact.cos, m, config, position, pair);
        in_float.add(static_cast<double>(f.sin_row(position)[i]), exact.sin, m, config, position, pair);
        const bool near = position < (Index(1) << 22);
        (near ? any_near : any_far) = true;
        Worst& worst = near ? in_double : in_double_far;
        worst.add(d.cos_row(position)[i], exact.cos, m, config, position, pair);
        worst.add(d.sin_row(position)[i], exact.sin, m, config, position, pair);
    }

    void check() const {
        in_float.print();
        CHECK(in_float.within(CosSinCache<float>::kMaxUlpError));
        if (any_near) {
            in_double.print();
            CHECK(in_double.within(CosSinCache<double>::kMaxUlpError));
        }
        if (any_far) in_double_far.print();
    }
};

/// Rows first .. first + count - 1 of both types against the formula.
void add_rows(Both& both, const Config& config, const std::vector<Real>& w, Index first, Index count) {
    const CosSinCache<float> f(config, count, first);
    const CosSinCache<double> d(config, count, first);
    const Real m(config.attention_factor);
    for (Index p = first; p < first + count; ++p)
        for (Index i = 0; i < kPairs; ++i) {
            const RealCosSin exact = support::cos_sin(p, w[support::size(i)]);
            both.add(f, d, p, i, {m * exact.cos, m * exact.sin}, config, i);
        }
}

/// now becomes the angle sum of now and step; the spare number saves an allocation per product.
void rotate(RealCosSin& now, const RealCosSin& step, RealCosSin& spare) {
    mpfr_fmms(spare.cos.get(), now.cos.get(), step.cos.get(), now.sin.get(), step.sin.get(), MPFR_RNDN);
    mpfr_fmma(spare.sin.get(), now.sin.get(), step.cos.get(), now.cos.get(), step.sin.get(), MPFR_RNDN);
    mpfr_swap(now.cos.get(), spare.cos.get());
    mpfr_swap(now.sin.get(), spare.sin.get());
}

/// How many entries of a table differ from those of a larger one, which has at least its positions and pairs.
template <class T>
std::uint64_t different_entries(const CosSinCache<T>& part, const CosSinCache<T>& whole) {
    std::uint64_t different = 0;
    const std::size_t bytes = support::size(part.pairs()) * sizeof(T);
    const Index end = part.first_position() + part.max_positions();
    for (Index p = part.first_position(); p < end; ++p) {
        if (std::memcmp(part.cos_row(p), whole.cos_row(p), bytes) == 0 &&
            std::memcmp(part.sin_row(p), whole.sin_row(p), bytes) == 0)
            continue;
        for (Index i = 0; i < part.pairs(); ++i) {
            if (std::memcmp(part.cos_row(p) + i, whole.cos_row(p) + i, sizeof(T)) != 0) ++different;
            if (std::memcmp(part.sin_row(p) + i, whole.sin_row(p) + i, sizeof(T)) != 0) ++different;
        }
    }
    return different;
}

/// Windows of every size and place inside one long table.
template <class T>
void check_windows(const char* type, const Config& config, Index first, Index count) {
    const CosSinCache<T> whole(config, count, first);
    std::mt19937_64 random(static_cast<std::uint64_t>(first) + 17);
    std::uint64_t different = 0;
    std::uint64_t entries = 0;
    const auto compare = [&](Index at, Index rows) {
        const CosSinCache<T> part(config, rows, at);
        different += different_entries(part, whole);
        entries += static_cast<std::uint64_t>(2 * kPairs * rows);
    };
    for (int n = 0; n < 60; ++n) {
        const Index rows = 1 + static_cast<Index>(random() % (n % 2 == 0 ? 20 : 600));
        const Index at = first + static_cast<Index>(random() % static_cast<std::uint64_t>(count - rows));
        compare(at, rows);
        // A power of two is where a table is likely to be put together from parts.
        const Index step = Index(1) << (5 + n % 10);
        const Index edge = (at / step) * step;
        if (edge - 3 >= first && edge + 4 < first + count) {
            compare(edge, 1);
            compare(edge - 3, 7);
        }
    }
    std::printf("%-6s windows of positions [%lld, %lld): %llu of %llu entries differ from the long table's\n", type,
                static_cast<long long>(first), static_cast<long long>(first + count),
                static_cast<unsigned long long>(different), static_cast<unsigned long long>(entries));
    CHECK(entries > 0);
    CHECK(different == 0);
}

}  // namespace

TEST_CASE("entries are right at all positions below 2^16") {
    constexpr Index kPositions = Index(1) << 16;
    constexpr Index kResync = 4096;
    Both both("positions below 2^16");
    Real drift;
    RealCosSin spare;
    for (const Config& config : nine_configs()) {
        const CosSinCache<float> f(config, kPositions);
        const CosSinCache<double> d(config, kPositions);
        const std::vector<Real> w = real_frequencies(config);
        std::vector<RealCosSin> now(support::size(kPairs)), step;
        for (const Real& frequency : w) step.push_back(support::cos_sin(frequency));
        for (Index p = 0; p < kPositions; ++p) {
            for (std::size_t i = 0; i < support::size(kPairs); ++i) {
                if (p % kResync != 0) {
                    rotate(now[i], step[i], spare);
                } else {
                    // The angle sum drifts by an ulp of 256 bits per step; here is how far, before it is
                    // made afresh.
                    const RealCosSin exact = support::cos_sin(p, w[i]);
                    if (p > 0) {
                        rotate(now[i], step[i], spare);
                        drift = support::max(drift, abs(now[i].cos - exact.cos));
                        drift = support::max(drift, abs(now[i].sin - exact.sin));
                    }
                    now[i] = exact;
                }
                both.add(f, d, p, static_cast<Index>(i), now[i], config, static_cast<Index>(i));
            }
        }
    }
    CHECK(drift <= support::power_of_two(-200));
    both.check();
}

TEST_CASE("entries are right at powers of two and their neighbours") {
    Both both("powers of two, one before, one after");
    for (const Config& config : nine_configs()) {
        const std::vector<Real> w = real_frequencies(config);
        for (int k = 0; k <= 31; ++k) {
            const Index power = Index(1) << k;
            add_rows(both, config, w, power - 1, std::min<Index>(3, kLast31 - (power - 1) + 1));
        }
    }
    both.check();
}

TEST_CASE("entries are right at random positions and pairs") {
    // Half of the positions are uniform, half have a uniform exponent, so that short contexts are seen too.
    constexpr int kSamples = 1000000;
    Both both("10^6 random (position, pair) below 2^31");
    const std::vector<Config> configs = nine_configs();
    std::vector<std::vector<Real>> w;
    std::vector<rope::Frequencies> frequencies;
    for (const Config& config : configs) {
        w.push_back(real_frequencies(config));
        frequencies.push_back(rope::frequencies(config));
    }
    std::mt19937_64 random(20210409);
    for (int n = 0; n < kSamples; ++n) {
        const std::size_t c = random() % configs.size();
        const std::size_t pair = random() % support::size(kPairs);
        const Index uniform = static_cast<Index>(random() >> 33);
        const Index position = n % 2 == 0 ? uniform : uniform >> (random() % 31);
        // One pair and one position: the smallest table, whose bits are those of the whole one.
        const rope::Frequencies one = {{frequencies[c].inv_freq[pair]}, {frequencies[c].inv_freq_low[pair]}, 1.0};
        const CosSinCache<float> f(one, 1, {}, position);
        const CosSinCache<double> d(one, 1, {}, position);
        both.add(f, d, position, 0, support::cos_sin(position, w[c][pair]), configs[c], static_cast<Index>(pair));
    }
    both.check();
}

TEST_CASE("entries of other magnitudes are as right, relative to the magnitude") {
    for (const double m : {0.5, 1.25, 7.0, 0.1, 1.1386294361119891, 0.87825}) {
        Both both("attention factor " + std::to_string(m));
        for (const double base : {1e4, 1e6}) {
            const Config config = config_of(base, 1.0, m);
            const std::vector<Real> w = real_frequencies(config);
            for (const Index first : {Index(0), Index(131072 - 128), Index(1) << 21, kLast31 - 255})
                add_rows(both, config, w, first, 256);
        }
        both.check();
    }
}

TEST_CASE("entries are right for given frequencies of every size and sign") {
    // Plain doubles are taken as they are: nothing was cut off, and the angle is exactly position * inv_freq.
    Both both("given frequencies, magnitudes 2^-60 .. 2^32");
    std::mt19937_64 random(32);
    std::uniform_real_distribution<double> mantissa(-1.0, 1.0);
    for (int n = 0; n < 1000; ++n) {
        const rope::Frequencies given = {{std::ldexp(mantissa(random), n % 93 - 60), 0.0}, {}, 1.0};
        const Index first = static_cast<Index>(random() >> 33) >> (random() % 31);
        const CosSinCache<float> f(given, 2, {}, first);
        const CosSinCache<double> d(given, 2, {}, first);
        Config config;
        for (Index p = first; p < first + 2; ++p)
            for (Index i = 0; i < 2; ++i)
                both.add(f, d, p, i, support::cos_sin(p, Real(given.inv_freq[support::size(i)])), config, i);
    }
    both.check();
}

TEST_CASE("entries are right at negative positions") {
    Both both("negative positions");
    for (const Config& config : nine_configs()) {
        const std::vector<Real> w = real_frequencies(config);
        for (const Index first : {Index(-100), Index(-8200), -kLast31}) add_rows(both, config, w, first, 120);
    }
    both.check();
}

TEST_CASE("float entries are within 0.51 ulp up to position 2^62") {
    std::mt19937_64 random(62);
    Worst worst("float, random positions of magnitude up to 2^62", 24);
    const Config config = config_of(1e4, 1.0);
    const std::vector<Real> w = real_frequencies(config);
    for (int n = 0; n < 400; ++n) {
        const Index magnitude = static_cast<Index>(random() >> 2) >> (random() % 31);
        const Index position = n % 2 == 0 ? magnitude : -magnitude;
        const CosSinCache<float> table(config, 1, position);
        for (Index i = 0; i < kPairs; ++i) {
            const RealCosSin exact = support::cos_sin(position, w[support::size(i)]);
            worst.add(static_cast<double>(table.cos_row(position)[i]), exact.cos, 1.0, config, position, i);
            worst.add(static_cast<double>(table.sin_row(position)[i]), exact.sin, 1.0, config, position, i);
        }
    }
    worst.print();
    CHECK(worst.within(0.51));
}

TEST_CASE("an entry's bits do not depend on where its table begins or ends") {
    const Config config = config_of(1e4, 1.0, 1.25);
    const Index far62 = Index(1) << 62;
    for (const Index first :
         {Index(-20000), Index(0), kLast31 - 39999, (Index(1) << 40) - 12345, far62 - 40000, -far62}) {
        check_windows<float>("float", config, first, 40000);
        check_windows<double>("double", config, first, 40000);
    }
}

TEST_CASE("an entry's bits do not depend on where its table begins, at a billion entries") {
    // Two ways to cut an angle in two give doubles that differ in the last place, and floats that differ only when
    // such a double lies at a tie, about once in 10^8 entries: the tests above would not see it.
    const Config config = config_of(1e4, 1.0);
    constexpr Index kRows = Index(1) << 16;
    std::uint64_t different = 0;
    for (Index n = 0; n < 120; ++n) {
        const Index first = n * kRows;
        const CosSinCache<float> longer(config, kRows + 77, first - 77);
        different += different_entries(CosSinCache<float>(config, kRows, first), longer);
    }
    CHECK(different == 0);
}

TEST_CASE("an entry's bits do not depend on how many pairs its table has") {
    for (const Config& config : nine_configs()) {
        const rope::Frequencies all = rope::frequencies(config);
        for (const Index first : {Index(-70), Index(131000), kLast31 - 149}) {
            const CosSinCache<float> f(all, 150, {}, first);
            const CosSinCache<double> d(all, 150, {}, first);
            std::uint64_t different = 0;
            // Counts around the widths of vectors, so that bodies and tails of loops both are seen.
            for (const std::ptrdiff_t pairs : {1, 2, 3, 5, 7, 8, 9, 15, 17, 33, 63}) {
                const rope::Frequencies some = {{all.inv_freq.begin(), all.inv_freq.begin() + pairs},
                                                {all.inv_freq_low.begin(), all.inv_freq_low.begin() + pairs},
                                                1.0};
                different += different_entries(CosSinCache<float>(some, 150, {}, first), f);
                different += different_entries(CosSinCache<double>(some, 150, {}, first), d);
            }
            CHECK(different == 0);
        }
    }
}
