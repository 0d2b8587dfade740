// SPDX-License-Identifier: MIT
// The loop that one writes first, over a table, compiled for this machine: vectors are what the compiler makes.
#include <cmath>
#include <cstddef>
#include <vector>

#include "other_ways.hpp"
#include "peer.hpp"

namespace {

struct Peer {
    Problem problem;
    std::vector<float> rows;  // a row of cosines and sines for each token
    float* x;
};

}  // namespace

void* make_peer(const Problem* problem, float* x) {
    const Problem& p = *problem;
    Peer* const peer = new Peer{p, {}, x};
    for (long t = 0; t < p.seq; ++t)
        for (int is_sine = 0; is_sine < 2; ++is_sine)
            for (long i = 0; i < p.head_dim / 2; ++i) {
                const double angle = static_cast<double>(p.start + t) *
                                     std::pow(p.base, -2.0 * static_cast<double>(i) / static_cast<double>(p.head_dim));
                peer->rows.push_back(static_cast<float>(is_sine != 0 ? std::sin(angle) : std::cos(angle)));
            }
    return peer;
}
void run_peer(void* peer, long calls) {
    const Peer& p = *static_cast<const Peer*>(peer);
    for (long i = 0; i < calls; ++i)
        other_ways::plain_loop(p.x, p.problem.seq, p.problem.heads, p.problem.head_dim / 2, p.rows.data());
}
void free_peer(void* peer) { delete static_cast<Peer*>(peer); }
const char* name_of_peer() { return "-O3 -march=native, " PEER_COMPILER; }
