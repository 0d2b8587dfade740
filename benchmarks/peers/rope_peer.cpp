// SPDX-License-Identifier: MIT
// This library, as README.md has it: a table once, a call per rotation.
#include <rope/core.hpp>

#include <string>

#include "peer.hpp"

namespace {

struct Peer {
    Problem problem;
    rope::CosSinCache<float> cache;
    rope::TensorView<float> x;
};

rope::CosSinCache<float> cache_of(const Problem& p) {
    rope::Config config;
    config.head_dim = p.head_dim;
    config.base = p.base;
    return rope::CosSinCache<float>(config, p.start + p.seq);
}

}  // namespace

void* make_peer(const Problem* problem, float* x) {
    return new Peer{*problem, cache_of(*problem), rope::view(x, problem->seq, problem->heads, problem->head_dim)};
}
void run_peer(void* peer, long calls) {
    const Peer& p = *static_cast<const Peer*>(peer);
    for (long i = 0; i < calls; ++i)
        rope::apply<rope::Layout::half_split>(p.x, p.cache, rope::start_at(p.problem.start));
}
void free_peer(void* peer) { delete static_cast<Peer*>(peer); }
const char* name_of_peer() {
    static const std::string name = std::string("rope " ROPE_VERSION_STRING ", ") + rope::active_isa();
    return name.c_str();
}
