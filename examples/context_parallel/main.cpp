// SPDX-License-Identifier: MIT
// Ring attention: ranks of MPI share every sequence in balanced halves, each turns its own queries and keys, and keys
// and values go round. Exit status 0 when the result is that of one process.
#include <mpi.h>

#include <rope/rope.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "../arguments.hpp"
#include "attention.hpp"

namespace {

using rope::Index;

constexpr double kBound = 1e-5;  // the largest difference that is still rounding, where values are normal numbers

/// One sequence, and a pack of three.
const List kPacks[] = {{0, 1920}, {0, 240, 960, 1920}};

struct Ring {
    Index rank = 0, ranks = 1;

    Index before(Index steps) const { return (rank - steps + ranks) % ranks; }
};

/// Where a rank's tokens lie in the pack: their positions, were each sequence to begin at the index of its first token.
List indices_of(Index rank, Index ranks, const List& cu_seqlens) {
    const List starts(cu_seqlens.begin(), cu_seqlens.end() - 1);
    return rope::context_parallel_positions(rank, ranks, cu_seqlens, starts);
}

/// What one rank has made.
struct Shard {
    Matrix q, k, out;
    std::int64_t scores = 0;  // computed for a head
};

/// Queries of this rank, and keys and values as they come round.
void attend(const Ring& ring, const List& cu_seqlens, const List& positions, Tokens x, Shard& shard) {
    Gathered gathered(x.q.rows());
    const List bounds = rope::context_parallel_cu_seqlens(ring.ranks, cu_seqlens);  // the same on all ranks
    const int count = static_cast<int>(x.kv.size()), next = static_cast<int>((ring.rank + 1) % ring.ranks);
    Matrix coming(x.kv.rows(), x.kv.cols());
    for (Index step = 0; step < ring.ranks; ++step) {
        // Keys go on, turned as they are, while they are used. Their positions stay: every rank can list them.
        const bool is_last = step + 1 == ring.ranks;
        MPI_Request requests[2];
        if (!is_last) {
            MPI_Isend(x.kv.data(), count, MPI_FLOAT, next, 0, MPI_COMM_WORLD, &requests[0]);
            MPI_Irecv(coming.data(), count, MPI_FLOAT, static_cast<int>(ring.before(1)), 0, MPI_COMM_WORLD,
                      &requests[1]);
        }
        const List theirs = rope::context_parallel_positions(ring.before(step), ring.ranks, cu_seqlens);
        for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
            // Positions rise along both halves of a sequence, so what a token sees of them is their beginning.
            const auto first = theirs.begin() + bounds[i], last = theirs.begin() + bounds[i + 1];
            for (Index t = bounds[i]; t < bounds[i + 1]; ++t) {
                const Index seen = std::upper_bound(first, last, positions[static_cast<std::size_t>(t)]) - first;
                if (seen > 0) gathered.add(t, x.q, x.kv, bounds[i], seen);
                shard.scores += seen;
            }
        }
        if (!is_last) {
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            std::swap(x.kv, coming);
        }
    }
    shard.out = gathered.result();
}

/// All that one rank does.
Shard ring_attention(const Ring& ring, const List& cu_seqlens) {
    Tokens x = make_tokens(indices_of(ring.rank, ring.ranks, cu_seqlens));

    // Rows for the tokens of this rank and no others.
    const List positions = rope::context_parallel_positions(ring.rank, ring.ranks, cu_seqlens);
    rope::Rows<float> rows(config());
    rows.build(positions, x.q.rows());
    rope::apply<kLayout>(rope::view(x.q, kHeads), rope::view(x.keys(), kKvHeads), rows);

    Shard shard = {x.q, x.keys(), {}, 0};
    attend(ring, cu_seqlens, positions, std::move(x), shard);
    return shard;
}

/// On rank 0 the tokens of all ranks, in the order of the pack. What no rank has is not a number.
Matrix gather(const Ring& ring, const Matrix& mine, const List& cu_seqlens) {
    const bool is_root = ring.rank == 0;
    Matrix stacked(is_root ? ring.ranks * mine.rows() : 0, mine.cols());
    const int count = static_cast<int>(mine.size());
    MPI_Gather(mine.data(), count, MPI_FLOAT, stacked.data(), count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    Matrix all = Matrix::Constant(stacked.rows(), mine.cols(), std::numeric_limits<float>::quiet_NaN());
    Index from = 0;
    for (Index rank = 0; is_root && rank < ring.ranks; ++rank)
        for (const Index to : indices_of(rank, ring.ranks, cu_seqlens)) all.row(to) = stacked.row(from++);
    return all;
}

bool same_bits(const Matrix& a, const Matrix& b) {
    return a.size() == b.size() &&
           std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(float)) == 0;
}

/// All ranks run it; rank 0 compares, prints and answers.
bool check(const Ring& ring, const List& cu_seqlens) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    const Shard mine = ring_attention(ring, cu_seqlens);
    MPI_Barrier(MPI_COMM_WORLD);
    const double time = MPI_Wtime() - start;

    const Matrix q = gather(ring, mine.q, cu_seqlens), k = gather(ring, mine.k, cu_seqlens);
    const Matrix out = gather(ring, mine.out, cu_seqlens);
    std::int64_t fewest = 0, most = 0;
    MPI_Reduce(&mine.scores, &fewest, 1, MPI_INT64_T, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine.scores, &most, 1, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    if (ring.rank != 0) return true;

    const Plain plain = plain_attention(cu_seqlens);
    const bool is_exact = same_bits(q, plain.q) && same_bits(k, plain.k), is_balanced = fewest == most;
    const double worst = out.allFinite() ? (out.cast<double>() - plain.out).cwiseAbs().maxCoeff()
                                         : std::numeric_limits<double>::infinity();
    const bool is_close = worst <= kBound;
    for (std::size_t i = 0; i + 1 < cu_seqlens.size(); ++i)
        std::printf("%s%td", i == 0 ? "" : " + ", cu_seqlens[i + 1] - cu_seqlens[i]);
    std::printf(" tokens, %.2f s\n", time);
    std::printf("   rotated q and k   %s\n", is_exact ? "the same bits" : "other bits (FAILED)");
    std::printf("   attention         differs by %.1e, at most %.0e%s\n", worst, kBound, is_close ? "" : " (FAILED)");
    std::printf("   scores per rank   %lld to %lld%s\n", static_cast<long long>(fewest), static_cast<long long>(most),
                is_balanced ? "" : " (FAILED)");
    return is_exact && is_close && is_balanced;
}

/// Whether so many ranks can share the packs. All ask the same and are answered alike, so that all go on or none.
bool can_share(const Ring& ring) {
    try {
        for (const List& cu_seqlens : kPacks) (void)rope::context_parallel_cu_seqlens(ring.ranks, cu_seqlens);
        return true;
    } catch (const std::invalid_argument& error) {
        if (ring.rank == 0) std::fprintf(stderr, "%s\n", error.what());
        return false;
    }
}

constexpr const char* kHelp =
    "context_parallel: ring attention over MPI ranks, compared with one that has all tokens.\n"
    "\n"
    "  mpiexec -n N context_parallel   run on N ranks, and print differences\n"
    "  --help                          print this and stop\n";

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const Ring ring = {rank, ranks};
    if (const auto status = arguments::answer(argc, argv, kHelp, 0, rank == 0)) {
        MPI_Finalize();
        return *status;
    }

    int ok = can_share(ring) ? 1 : 0;
    if (ok != 0) {
        if (rank == 0)
            std::printf(
                "Causal attention with rotary embedding: %d in a ring against one, %td heads (%td of keys and "
                "values) of %td features, float\n\n",
                ranks, kHeads, kKvHeads, kHeadDim);
        for (const List& cu_seqlens : kPacks)
            if (!check(ring, cu_seqlens)) ok = 0;
        MPI_Bcast(&ok, 1, MPI_INT, 0, MPI_COMM_WORLD);  // all end alike
    }
    MPI_Finalize();
    return ok != 0 ? 0 : 1;
}
