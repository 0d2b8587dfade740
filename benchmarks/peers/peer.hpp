// SPDX-License-Identifier: MIT
// A contestant of peers.py: a shared object with these four functions. Several calls go into one of them, so that
// Python's own time is not a contestant's.
#pragma once

extern "C" {

/// Half-split pairs of float [seq, heads, head_dim], contiguous, at positions start, start + 1, ...
struct Problem {
    long seq, heads, head_dim, start;
    double base;
};

/// Makes a contestant that rotates x in place: its table, or its graph, is made here and serves all its calls.
void* make_peer(const Problem* problem, float* x);
/// Rotates x this many times.
void run_peer(void* peer, long calls);
void free_peer(void* peer);
/// Its name, version and instruction set.
const char* name_of_peer();
}
