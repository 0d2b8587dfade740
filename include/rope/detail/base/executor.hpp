// SPDX-License-Identifier: MIT
// The default executor, the requirements on the caller's, and the size from which a call goes to it.
#pragma once

#include <type_traits>
#include <utility>

#include "../../types.hpp"

ROPE_SOURCE_BEGIN

/// The f of executor(count, f), for as long as the executor runs. All calls have this one type, so that a program's
/// executor is compiled once, and the compiler can be asked whether it takes one.
class WorkItems {
 public:
    template <class F>
    explicit WorkItems(const F& f) noexcept : f_(&f), run_(&run<F>) {}
    ROPE_INLINE void operator()(Index begin, Index end) const { run_(f_, begin, end); }

 private:
    template <class F>
    static void run(const void* f, Index begin, Index end) {
        (*static_cast<const F*>(f))(begin, end);
    }
    const void* f_;
    void (*run_)(const void*, Index, Index);
};

/// Which calls go to an executor.
enum class Cutting : unsigned char {
    never,     // none: the calling thread does all
    if_large,  // those that write at least kSplitBytes, in items that are worth the hand-over
    always,    // all, in such items
    by_heads   // all, head by head
};
/// A reference to an executor of any type, which the functions behind the interface take: they are compiled once.
struct AnyExecutor {
    void* executor;
    void (*hand_over)(void* executor, Index count, const WorkItems& work);
    Cutting cutting;

    template <class F>
    void operator()(Index count, const F& f) const {
        hand_over(executor, count, WorkItems(f));
    }
};

ROPE_SOURCE_END

ROPE_DETAIL_BEGIN

struct NoThrowAccess;

/// Runs all work on the calling thread.
struct CallingThread {
    template <class F>
    void operator()(Index count, F&& f) const {
        f(Index(0), count);
    }
};

/// Converts to numbers that cannot hold every Index, and to nothing else.
struct NarrowCount {
    template <class N,
              std::enable_if_t<std::is_arithmetic_v<N> && (std::is_floating_point_v<N> || sizeof(N) < sizeof(Index)),
                               int> = 0>
    operator N() const noexcept;  // NOLINT(google-explicit-constructor)
};
/// Whether an executor takes its count as such a number. (Braces, because an `auto count` is not deduced from them.)
template <class Executor, class = void>
inline constexpr bool narrows_count = false;
template <class Executor>
inline constexpr bool narrows_count<Executor, std::void_t<decltype(std::declval<Executor&>()(
                                                  {std::declval<NarrowCount>()}, std::declval<WorkItems>()))>> = true;

template <class Executor>
inline constexpr bool is_executor = std::is_invocable_v<Executor&, Index, WorkItems> && !narrows_count<Executor>;

/// Every function with an executor begins with this. (A function, because the compilers then say it once for all layouts.)
template <class Executor>
constexpr void expect_executor() noexcept {
    static_assert(
        is_executor<Executor>,
        "An executor is a callable, [](rope::Index count, auto&& f) { ... }, that calls f(begin, end) for pieces "
        "that cover 0 .. count - 1, on any threads: it is no number of threads, and its count no int, which "
        "would narrow 64 bits. For threads that all make the same call: rope::part(thread, threads).");
}

/// Smaller calls end before another thread has begun.
inline constexpr Index kSplitBytes = Index(1) << 20;
inline constexpr Index kItemBytes = 16384;  // in each work item of larger calls, at least

template <class Executor, class = void>
inline constexpr Cutting cutting_of = Cutting::if_large;
template <>
inline constexpr Cutting cutting_of<CallingThread> = Cutting::never;

inline constexpr AnyExecutor kCallingThread = {nullptr, nullptr, Cutting::never};
/// (An executor that the compiler has refused is not called.)
template <class Executor>
inline AnyExecutor any_executor(Executor& executor) noexcept {
    expect_executor<Executor>();
    const auto run = [](void* given, Index count, const WorkItems& work) {
        if constexpr (is_executor<Executor>) (*reinterpret_cast<Executor*>(given))(count, work);
    };
    return {const_cast<void*>(reinterpret_cast<const volatile void*>(&executor)), run,
            cutting_of<std::remove_const_t<Executor>>};
}

ROPE_DETAIL_END
