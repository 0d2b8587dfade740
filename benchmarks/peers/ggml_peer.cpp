// SPDX-License-Identifier: MIT
// ggml's operator, in place, as a graph of one node on one thread. It has no table: each call computes the angles.
#include <ggml-cpu.h>
#include <ggml.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "peer.hpp"

namespace {

struct Peer {
    ggml_context* context;
    ggml_cgraph* graph;
    ggml_cplan plan;
    std::vector<std::uint8_t> work;
};

}  // namespace

void* make_peer(const Problem* problem, float* x) {
    const Problem& p = *problem;
    Peer* const peer = new Peer();
    const ggml_init_params params = {std::size_t(16) << 20, nullptr, true};  // its tensors have memory of ours
    peer->context = ggml_init(params);
    ggml_tensor* const tensor = ggml_new_tensor_3d(peer->context, GGML_TYPE_F32, p.head_dim, p.heads, p.seq);
    tensor->data = x;
    ggml_tensor* const positions = ggml_new_tensor_1d(peer->context, GGML_TYPE_I32, p.seq);
    positions->data = std::malloc(static_cast<std::size_t>(p.seq) * sizeof(std::int32_t));
    for (long t = 0; t < p.seq; ++t)
        static_cast<std::int32_t*>(positions->data)[t] = static_cast<std::int32_t>(p.start + t);
    ggml_tensor* const rotated =
        ggml_rope_ext_inplace(peer->context, tensor, positions, nullptr, static_cast<int>(p.head_dim),
                              GGML_ROPE_TYPE_NEOX, 0, static_cast<float>(p.base), 1.0f, 0.0f, 1.0f, 32.0f, 1.0f);
    rotated->data = x;
    peer->graph = ggml_new_graph(peer->context);
    ggml_build_forward_expand(peer->graph, rotated);
    peer->plan = ggml_graph_plan(peer->graph, 1, nullptr);
    peer->work.resize(peer->plan.work_size);
    peer->plan.work_data = peer->work.data();
    return peer;
}
void run_peer(void* peer, long calls) {
    Peer& p = *static_cast<Peer*>(peer);
    for (long i = 0; i < calls; ++i)
        if (ggml_graph_compute(p.graph, &p.plan) != GGML_STATUS_SUCCESS) std::abort();
}
void free_peer(void* peer) {
    Peer* const p = static_cast<Peer*>(peer);
    ggml_free(p->context);
    delete p;
}
const char* name_of_peer() { return "ggml " PEER_VERSION; }
