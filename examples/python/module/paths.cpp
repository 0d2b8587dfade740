// SPDX-License-Identifier: MIT
#include "paths.hpp"

namespace rotary {

const Array& Description::keep(nb::handle x, const char* name, Use use) {
    return arrays_.emplace_back(array(x, name, use));
}

const rope_buffer* Description::buffer(nb::handle where, const char* name, bool heads_first, Use use) {
    if (where.is_none()) return nullptr;
    rope_buffer b = {};
    b.size = sizeof(b);
    const Paged* pages = instance<Paged>(where);
    const Array& a = keep(pages != nullptr ? nb::handle(pages->array) : where, name, use);
    b.data = a.data;
    b.type = a.type;
    b.shape = &tensors_.emplace_back(tensor(a, name, pages != nullptr ? pages->heads_first : heads_first));
    if (pages != nullptr) {
        const Call& slots = calls_.emplace_back(pages->slots);
        b.is_paged = 1;
        b.slot_list = slots.ids();
        b.slot_count = slots.get()->ids_count;
        b.slot_type = slots.get()->ids_type;
        if (slots.get()->positions != ROPE_IDS)
            raise_value("slots is no list or array; one whole number for each token is allowed.");
    }
    return &buffers_.emplace_back(b);
}

const rope_buffer* Description::numbers(nb::handle x, const char* name, bool heads_first) {
    if (!x.is_valid() || x.is_none()) return nullptr;
    rope_buffer b = {};
    b.size = sizeof(b);
    const Array& a = keep(x, name, Use::read);
    b.data = a.data;
    b.type = a.type;
    b.shape = &tensors_.emplace_back(trailing_tensor(a, name, heads_first));
    return &buffers_.emplace_back(b);
}

const rope_heads* Description::heads(nb::handle where, const char* name, bool heads_first, Use use) {
    rope_heads h = {};
    h.size = sizeof(h);
    if (const Quantised* quantised = instance<Quantised>(where)) {
        const Quantised& q = *quantised;
        h.format = q.format;
        h.are_given = q.are_given ? 1 : 0;
        h.zeros_are_points = q.zeros_are_points ? 1 : 0;
        h.scale = q.scale;
        h.scale_divides = q.scale_divides ? 1 : 0;
        h.codes = buffer(q.codes, "codes", q.heads_first, use);
        const Use of_scales = q.are_given ? Use::read : use;
        h.scales = buffer(q.scales, "scales", q.heads_first, of_scales);
        h.zeros = buffer(q.zeros, "zeros", q.heads_first, of_scales);
    } else {
        h.codes = buffer(where, name, heads_first, use);
    }
    return &heads_.emplace_back(h);
}

rope_head_step Description::step(const Step& step, bool heads_first) {
    rope_head_step s = step.members;
    s.size = sizeof(s);
    s.numbers = numbers(step.numbers, "the numbers of a step", heads_first);
    s.bias = numbers(step.bias, "bias", heads_first);
    s.squares = numbers(step.squares, "squares", heads_first);
    if (step.rows) s.rows = step.rows->get();
    if (step.positions.is_valid() && !step.positions.is_none()) {
        const Call& call = calls_.emplace_back(step.positions);
        s.call = call.get();
        s.ids = call.ids();
    }
    return s;
}

void Description::add(const Path& path) {
    rope_path p = {};
    p.size = sizeof(p);
    const bool in_place = path.destination.is_none();
    p.source = heads(path.source, "x", path.heads_first, in_place ? Use::write : Use::read);
    if (!in_place) {
        p.destination =
            heads(path.destination, "destination", path.destination_heads_first.value_or(path.heads_first), Use::write);
    }
    p.first_feature = path.first_feature;
    p.features = path.features;
    if (path.model) {
        rope_recipe& r = recipes_.emplace_back(path.recipe);
        r.size = sizeof(r);
        r.model = path.model->get();
        r.weight = numbers(path.weight, "weight", path.heads_first);
        r.bias = numbers(path.bias, "bias", path.heads_first);
        r.temperatures = numbers(path.temperatures, "temperatures", path.heads_first);
        r.squares = numbers(path.squares, "squares", path.heads_first);
        p.recipe = &r;
    }
    auto& steps = steps_.emplace_back();
    for (const Step& s : path.steps) steps.push_back(step(s, path.heads_first));
    p.steps = steps.empty() ? nullptr : steps.data();
    p.step_count = static_cast<int32_t>(steps.size());
    paths_.push_back(p);
}

}  // namespace rotary
