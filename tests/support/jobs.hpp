// SPDX-License-Identifier: MIT
// The jobs that a call makes, to be cut where no executor cuts them.
#pragma once

#include <rope/core.hpp>

#include <rope/detail/call/run.hpp>

#include <algorithm>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "data.hpp"

namespace support {

/// f(job) with the job of apply in place, or of apply_copy, and the set that is in force. (A job refers to the views
/// and positions of its call, and does not outlive it.)
template <rope::Layout layout, class X, class T, class F>
void with_job_in_place(const rope::TensorView<X>& x, const rope::CosSinRows<T>& cache, const rope::Positions& positions,
                       F&& f) {
    const auto argument = rope::detail::in_place("x", x, cache);
    const auto views = rope::detail::erased(argument);
    f(rope::detail::rotate_job<layout>(rope::detail::Direction::forward, positions,
                                       rope::detail::isa_id(rope::active_isa()), argument, views));
}
template <rope::Layout layout, class In, class Out, class T, class F>
void with_job_out_of_place(const rope::TensorView<In>& in, const rope::TensorView<Out>& out,
                           const rope::CosSinRows<T>& cache, const rope::Positions& positions, F&& f) {
    const auto argument = rope::detail::out_of_place(in, out, cache);
    const auto views = rope::detail::erased(argument);
    f(rope::detail::rotate_job<layout>(rope::detail::Direction::forward, positions,
                                       rope::detail::isa_id(rope::active_isa()), argument, views));
}

/// 0 .. count - 1 as pieces of random sizes, some empty, in random order.
inline std::vector<std::pair<Index, Index>> random_pieces(Index count, Index cuts, std::mt19937_64& engine) {
    std::vector<Index> bounds = {0, count};
    for (Index i = 0; i < cuts; ++i)
        bounds.push_back(static_cast<Index>(engine() % static_cast<std::uint64_t>(count + 1)));
    std::sort(bounds.begin(), bounds.end());
    std::vector<std::pair<Index, Index>> pieces;
    for (std::size_t i = 1; i < bounds.size(); ++i) pieces.emplace_back(bounds[i - 1], bounds[i]);
    std::shuffle(pieces.begin(), pieces.end(), engine);
    return pieces;
}

/// An executor that counts beyond both ends, as one might that rounds its pieces up, or knows no count.
struct BeyondTheEnds {
    template <class F>
    void operator()(Index count, F&& f) const {
        constexpr Index least = std::numeric_limits<Index>::min(), most = std::numeric_limits<Index>::max();
        f(least, -1);
        f(-3, 1);
        f(1, most);
        f(count, count + 3);
    }
};

/// All heads of a job, in random pieces.
template <class Job>
void run_in_pieces(const Job& job, Index cuts, std::mt19937_64& engine) {
    for (const auto& [begin, end] : random_pieces(job.pieces, cuts, engine)) job.kernel(job.task, begin, end);
}

}  // namespace support
