// SPDX-License-Identifier: MIT
// An executor may cut a call into any pieces and run them in any order, on any threads: the bits are the same. With
// OpenMP, Eigen's pool and std::thread.
#include <rope/core.hpp>

#include <rope/additive.hpp>

#include <algorithm>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/data.hpp"
#include "support/exact/exact.hpp"
#include "support/isas.hpp"
#include "support/jobs.hpp"

// ThreadSanitizer knows neither the fences of Eigen's pool nor the locks inside GCC's OpenMP library.
#if defined(__SANITIZE_THREAD__)
#    define ROPE_TEST_UNDER_TSAN
#elif defined(__has_feature)
#    if __has_feature(thread_sanitizer)
#        define ROPE_TEST_UNDER_TSAN
#    endif
#endif
#if defined(ROPE_TEST_UNDER_TSAN)
constexpr unsigned kSeeds = 1;
#else
constexpr unsigned kSeeds = 3;
#    define EIGEN_USE_THREADS
#    include <unsupported/Eigen/CXX11/Tensor>
#    if defined(_OPENMP)
#        define ROPE_TEST_OPENMP
#        include <omp.h>
#    endif
#endif

using rope::bfloat16;
using rope::half;
using rope::Index;
using rope::Layout;
using rope::TensorView;
using support::Operation;
using support::same_bits;
using support::size;

namespace {

rope::Config config_of(Index head_dim, Index rotary_dim = 0, Index rotary_offset = 0) {
    rope::Config config;
    config.head_dim = head_dim;
    config.rotary_dim = rotary_dim;
    config.rotary_offset = rotary_offset;
    config.attention_factor = 1.25;
    return config;
}

/// Pieces of random sizes in random order, on four threads.
class OnThreads {
 public:
    explicit OnThreads(unsigned seed) : engine_(seed) {}
    template <class F>
    void operator()(Index count, F&& f) {
        const auto pieces = support::random_pieces(count, static_cast<Index>(engine_() % 40), engine_);
        std::vector<std::thread> threads;
        for (std::size_t t = 0; t < 4; ++t)
            threads.emplace_back([&f, &pieces, t] {
                for (std::size_t i = t; i < pieces.size(); i += 4) f(pieces[i].first, pieces[i].second);
            });
        for (std::thread& t : threads) t.join();
    }

 private:
    std::mt19937_64 engine_;
};

/// One unit after the other, in random order.
class OneByOne {
 public:
    explicit OneByOne(unsigned seed) : engine_(seed) {}
    template <class F>
    void operator()(Index count, F&& f) {
        std::vector<Index> units(size(count));
        for (Index i = 0; i < count; ++i) units[size(i)] = i;
        std::shuffle(units.begin(), units.end(), engine_);
        for (const Index unit : units) f(unit, unit + 1);
    }

 private:
    std::mt19937_64 engine_;
};

/// A tensor of the same extents in other orders.
template <class T>
TensorView<T> heads_first(const TensorView<T>& v) {
    return rope::view_heads_first(v.data, v.batch, v.heads, v.seq, v.head_dim);
}
template <class T>
TensorView<T> column_major(const TensorView<T>& v) {
    return {v.data, v.batch, v.seq, v.heads, v.head_dim, 1, v.batch, v.batch * v.seq, v.batch * v.seq * v.heads};
}
template <class T>
TensorView<T> heads_are_neighbours(const TensorView<T>& v) {
    const Index token = v.heads * v.head_dim;
    return {v.data, v.batch, v.seq, v.heads, v.head_dim, v.seq * token, token, 1, v.heads};
}

/// Bytes, because a NaN and two zeros would not compare as bits.
template <class T>
std::vector<unsigned char> bytes_of(const std::vector<T>& x) {
    const unsigned char* const p = reinterpret_cast<const unsigned char*>(x.data());
    return std::vector<unsigned char>(p, p + x.size() * sizeof(T));
}

/// call(executor) with several executors gives `want`. `call` works on fresh data and returns its bytes.
template <class Call, class Bytes>
void check_executors(const Bytes& want, const Call& call) {
    REQUIRE(call(rope::detail::CallingThread()) == want);
    for (unsigned seed = 1; seed <= kSeeds; ++seed) {
        REQUIRE(call(OnThreads(seed)) == want);
        REQUIRE(call(OneByOne(seed)) == want);
    }
    REQUIRE(call([](Index count, auto&& f) {
                f(0, 0);
                f(0, count);
                f(count, count);
            }) == want);
    REQUIRE(call(support::BeyondTheEnds()) == want);
}

/// in turned by the formula, one element at a time; see support/exact/exact.hpp.
template <class In, class Out, class T>
void turn_exactly(Layout layout, const TensorView<In>& in, const TensorView<Out>& out,
                  const rope::CosSinCache<T>& cache, const rope::Positions& positions,
                  Operation operation = Operation::apply) {
    rope::active_isa();  // makes the choice
    support::turn_exactly(rope::detail::active_isa_has_fma(), operation, layout, in, out, cache, positions);
}

}  // namespace

TEST_CASE("any pieces, any order, any thread: in place") {
    struct Shape {
        Index batch, seq, heads, d;
    };
    for (const Shape s : {Shape{1, 700, 4, 100}, Shape{2, 3, 500, 100}, Shape{30, 5, 20, 100}, Shape{1, 1, 4096, 128},
                          Shape{1, 67, 41, 104}, Shape{64, 1, 40, 104}}) {
        const Index count = s.batch * s.seq * s.heads * s.d;
        CAPTURE(s.batch, s.seq, s.heads);
        const rope::CosSinCache<float> cache(config_of(s.d, 78, 3), s.seq + 5);
        const auto x = support::normal<float>(count, 1);
        for (const int order : {0, 1, 2, 3}) {
            const auto view = [&](std::vector<float>& y) {
                const auto plain = rope::view(y.data(), s.batch, s.seq, s.heads, s.d);
                return order == 0   ? plain
                       : order == 1 ? heads_first(plain)
                       : order == 2 ? column_major(plain)
                                    : heads_are_neighbours(plain);
            };
            auto want = x;
            turn_exactly(Layout::half_split, view(want), view(want), cache, rope::start_at(5));
            check_executors(bytes_of(want), [&](auto&& executor) {
                auto y = x;
                rope::apply<Layout::half_split>(view(y), cache, rope::start_at(5), executor);
                return bytes_of(y);
            });
        }
    }
}

TEST_CASE("any pieces, any order, any thread: out of place, double, undone, larger than the caches") {
    const Index seq = 500, heads = 9, d = 128;
    const rope::CosSinCache<float> cache(config_of(d, 78, 3), seq);
    const auto x = support::normal<float>(seq * heads * d, 2);
    std::vector<half> narrow(x.size());
    turn_exactly(Layout::interleaved, rope::view(x.data(), seq, heads, d),
                 column_major(rope::view(narrow.data(), seq, heads, d)), cache, {});
    check_executors(bytes_of(narrow), [&](auto&& executor) {
        std::vector<half> y(x.size());
        rope::apply_copy<Layout::interleaved>(rope::view(x.data(), seq, heads, d),
                                              column_major(rope::view(y.data(), seq, heads, d)), cache, {}, executor);
        return bytes_of(y);
    });
    const rope::CosSinCache<double> cache_of_double(config_of(d, 78, 3), seq);
    const auto large = support::normal<double>(2 * seq * heads * d, 2);
    for (const bool tokens_first : {false, true}) {
        const auto view = [&](std::vector<double>& y) {
            auto v = rope::view(y.data(), 2, seq, heads, d);
            if (!tokens_first) return heads_first(v);
            v.seq_stride = 2 * heads * d;
            v.batch_stride = heads * d;
            return v;
        };
        auto want = large;
        turn_exactly(Layout::half_split, view(want), view(want), cache_of_double, {}, Operation::inverse);
        check_executors(bytes_of(want), [&](auto&& executor) {
            auto y = large;
            rope::apply_inverse<Layout::half_split>(view(y), cache_of_double, {}, executor);
            return bytes_of(y);
        });
    }
}

TEST_CASE("any pieces, any order, any thread: q and k with heads of their own") {
    struct Shape {
        Index q_heads, k_heads, seq;
    };
    for (const Shape shape :
         {Shape{8, 2, 333}, Shape{2000, 300, 2}, Shape{0, 9, 333}, Shape{9, 0, 333}, Shape{1, 40, 79}}) {
        const Index d = 104;
        const Index q_heads = shape.q_heads, k_heads = shape.k_heads, seq = shape.seq;
        CAPTURE(q_heads, k_heads, seq);
        const rope::CosSinCache<float> q_cache(config_of(d), seq), k_cache(config_of(d, 50, 30), seq);
        const auto q = support::normal<float>(seq * q_heads * d, 3), k = support::normal<float>(seq * k_heads * d, 4);
        for (const bool columns : {false, true}) {
            const auto q_of = [&](std::vector<float>& v) {
                const auto plain = rope::view(v.data(), seq, q_heads, d);
                return columns ? column_major(plain) : plain;
            };
            const auto k_of = [&](std::vector<float>& v) { return rope::view(v.data(), seq, k_heads, d); };
            auto q_want = q, k_want = k;
            turn_exactly(Layout::interleaved, q_of(q_want), q_of(q_want), q_cache, {});
            turn_exactly(Layout::interleaved, k_of(k_want), k_of(k_want), k_cache, {});
            check_executors(std::make_pair(bytes_of(q_want), bytes_of(k_want)), [&](auto&& executor) {
                auto a = q, b = k;
                rope::apply<Layout::interleaved>(q_of(a), k_of(b), q_cache, k_cache, {}, executor);
                return std::make_pair(bytes_of(a), bytes_of(b));
            });
        }
    }
}

TEST_CASE("any pieces, any order, any thread: additions") {
    const Index batch = 2, seq = 150, d_model = 900;
    const rope::SinusoidalEmbedding<float> embedding(d_model, seq);
    const auto x = support::normal<float>(batch * seq * d_model, 5);
    for (const Index heads : {1, 9})
        for (const int order : {0, 1, 2}) {
            const Index d = d_model / heads;
            const auto view = [&](std::vector<float>& y) {
                const auto v = rope::view(y.data(), batch, seq, heads, d);
                return order == 0 ? v : order == 1 ? heads_first(v) : column_major(v);
            };
            auto want = x;
            for (Index b = 0; b < batch; ++b)
                for (Index s = 0; s < seq; ++s)
                    for (Index i = 0; i < d_model; ++i) view(want)(b, s, i / d, i % d) += embedding.row(s)[i];
            check_executors(bytes_of(want), [&](auto&& executor) {
                auto y = x;
                embedding.add(view(y), {}, executor);
                return bytes_of(y);
            });
        }
}

TEST_CASE("the smallest tensors, cut where an executor never would") {
    std::mt19937_64 engine(6);
    for (Index pairs = 1; pairs <= 40; ++pairs) {
        const Index batch = 1 + pairs % 2, seq = 1 + pairs % 5, heads = 1 + pairs % 7, d = 2 * pairs;
        const rope::CosSinCache<float> cache(config_of(d), 8);
        const auto x = support::normal<bfloat16>(batch * seq * heads * d, 7);
        support::for_each_isa([&](const char* isa) {
            auto want = x, y = x;
            rope::apply<Layout::half_split>(rope::view(want.data(), batch, seq, heads, d), cache);
            const auto v = rope::view(y.data(), batch, seq, heads, d);
            support::with_job_in_place<Layout::half_split>(
                v, cache, {}, [&](const auto& job) { support::run_in_pieces(job, 4, engine); });
            CAPTURE(isa, pairs);
            REQUIRE(same_bits(y, want));
        });
    }
}

// ---- Executors as users write them ----

namespace {

template <class Executor>
void check_users_executor(Executor&& executor) {
    const Index seq = 400, d = 128;
    const rope::CosSinCache<float> cache(config_of(d), seq);
    const auto q0 = support::normal<float>(seq * 8 * d, 8), k0 = support::normal<float>(seq * 2 * d, 9);
    auto q = q0, k = k0, q_want = q0, k_want = k0;
    const auto on = [&](std::vector<float>& v, Index heads) { return rope::view(v.data(), seq, heads, d); };
    rope::apply<Layout::half_split>(on(q_want, 8), on(k_want, 2), cache);
    rope::apply<Layout::half_split>(on(q, 8), on(k, 2), cache, rope::start_at(0), executor);
    CHECK(same_bits(q, q_want));
    CHECK(same_bits(k, k_want));
}

}  // namespace

#ifdef ROPE_TEST_OPENMP
TEST_CASE("OpenMP") {
    const auto openmp = [](rope::Index count, auto&& f) {
        const rope::Index pieces = omp_get_max_threads();
#    pragma omp parallel for
        for (rope::Index i = 0; i < pieces; ++i) f(count * i / pieces, count * (i + 1) / pieces);
    };
    check_users_executor(openmp);
    const auto unit_by_unit = [](rope::Index count, auto&& f) {
#    pragma omp parallel for schedule(dynamic) num_threads(3)
        for (rope::Index i = 0; i < count; ++i) f(i, i + 1);
    };
    check_users_executor(unit_by_unit);
}
#endif

#ifndef ROPE_TEST_UNDER_TSAN
TEST_CASE("Eigen's thread pool") {
    Eigen::ThreadPool pool(4);
    Eigen::ThreadPoolDevice device(&pool, 4);
    const auto eigen = [&](rope::Index count, auto&& f) {
        device.parallelFor(count, Eigen::TensorOpCost(16384, 16384, 8192), f);  // bytes read, written, cycles per unit
    };
    check_users_executor(eigen);
}
#endif

TEST_CASE("std::thread") {
    const auto threads = [](rope::Index count, auto&& f) {
        std::vector<std::thread> pool;
        for (rope::Index i = 0; i < 4; ++i)
            pool.emplace_back([&f, count, i] { f(count * i / 4, count * (i + 1) / 4); });
        for (std::thread& t : pool) t.join();
    };
    check_users_executor(threads);
}
