// SPDX-License-Identifier: MIT
// Paths of a pass: where heads come from, the steps that they take, where they go. Data only, until a call describes them.
#pragma once
#include "rows.hpp"

#include <deque>

namespace rotary {

// Pages of a cache, [pages, page_size, heads, head_dim], and the slot of each token.
struct Paged {
    nb::object array, slots;
    bool heads_first = false;
};

// Codes of a cache format, with what they need beside them.
struct Quantised {
    int32_t format = ROPE_PLAIN;
    nb::object codes, scales, zeros;  // None, arrays or Paged
    bool heads_first = false, are_given = false, zeros_are_points = false, scale_divides = false;
    double scale = 0;
};

struct Step {
    rope_head_step members = {};
    nb::object numbers, bias, squares, positions;  // None, or empty, where absent
    std::optional<CosSinRows> rows;
};

class Path {
 public:
    nb::object source, destination;  // destination None: in place
    bool heads_first = false;
    std::optional<bool> destination_heads_first;
    int64_t first_feature = 0, features = 0;
    std::vector<Step> steps;
    // The steps of a model's layer, which come first, if there is one.
    std::optional<ModelConfig> model;
    rope_recipe recipe = {};
    nb::object weight, bias, temperatures, squares;
};

// The structs of rope.h that paths need, with the memory of their arrays.
class Description {
 public:
    void add(const Path& path);
    const rope_heads* heads(nb::handle where, const char* name, bool heads_first, Use use);
    const rope_buffer* numbers(nb::handle x, const char* name, bool heads_first);

    const std::vector<rope_path>& paths() const noexcept { return paths_; }

 private:
    const rope_buffer* buffer(nb::handle where, const char* name, bool heads_first, Use use);
    const Array& keep(nb::handle x, const char* name, Use use);
    rope_head_step step(const Step& step, bool heads_first);

    // Deques: what points into them must not move.
    std::deque<Array> arrays_;
    std::deque<Call> calls_;
    std::deque<rope_tensor> tensors_;
    std::deque<rope_buffer> buffers_;
    std::deque<rope_heads> heads_;
    std::deque<rope_recipe> recipes_;
    std::deque<std::vector<rope_head_step>> steps_;
    std::vector<rope_path> paths_;
};

}  // namespace rotary
