// SPDX-License-Identifier: MIT
#include "paths.hpp"

namespace rotary {
namespace {

using namespace nb::literals;

// Numbers of float64 that a gradient is read from or added to.
struct Doubles {
    Array memory;
    rope_tensor shape = {};
    double* data = nullptr;

    Doubles(nb::handle x, const char* name, Use use) {
        if (x.is_none()) return;
        memory = array(x, name, use);
        if (memory.type != ROPE_FLOAT64)
            raise_value(std::string(name) + " has another dtype than float64, which alone is allowed.");
        shape = trailing_tensor(memory, name, false);
        data = static_cast<double*>(memory.data);
    }
    const rope_tensor* get() const noexcept { return data != nullptr ? &shape : nullptr; }
};

}  // namespace

void bind_gradients(nb::module_& m) {
    m.def(
        "add_angle_gradients",
        [](nb::handle y, nb::handle g, const CosSinRows& rows, nb::handle angles, nb::handle magnitudes, Layout layout,
           bool heads_first) {
            const Array a = array(y, "y", Use::read), b = array(g, "g", Use::read);
            const rope_tensor y_shape = tensor(a, "y", heads_first), g_shape = tensor(b, "g", heads_first);
            const Doubles of_angles(angles, "angles", Use::write), of_magnitudes(magnitudes, "magnitudes", Use::write);
            const Call call(nb::none(), layout);
            checked([&](char* message, size_t room) {
                return rope_add_angle_gradients(rows.get(), call.get(), a.data, &y_shape, b.data, &g_shape,
                                                of_angles.data, of_angles.get(), of_magnitudes.data,
                                                of_magnitudes.get(), message, room);
            });
        },
        "y"_a, "g"_a, "rows"_a, "angles"_a, "magnitudes"_a = nb::none(), nb::kw_only(), "layout"_a = nb::none(),
        "heads_first"_a = false,
        "Adds the gradient of each token's and pair's angle to angles, float64 [batch, seq, n, pairs], n dividing "
        "heads; and of the\n"
        "logarithm of its magnitude to magnitudes. y: what apply wrote; g: the gradient with respect to it.");
    m.def(
        "add_frequency_gradients",
        [](nb::handle angles, nb::handle out, nb::handle positions, const AxisMap* axes) {
            const Doubles in(angles, "angles", Use::read), to(out, "out", Use::write);
            const Call call =
                Call::of_tokens(positions, axes != nullptr ? axes->axes() : 1, in.shape.seq, in.shape.batch);
            const rope_axes a = axes != nullptr ? axes->get() : rope_axes{};
            checked([&](char* message, size_t room) {
                return rope_add_frequency_gradients(in.data, in.get(), axes != nullptr ? &a : nullptr, call.get(),
                                                    call.ids(), to.data, to.get(), message, room);
            });
        },
        "angles"_a, "out"_a, "positions"_a = 0, nb::kw_only(), "axes"_a.none() = nb::none(),
        "Adds the gradient of each frequency to out, float64 [frequencies], from angles [batch, seq, n, pairs].");
    m.def(
        "add_position_gradients",
        [](nb::handle angles, const Config& config, nb::handle out, const AxisMap* axes, int64_t seq_len) {
            const Doubles in(angles, "angles", Use::read);
            Doubles to(out, "out", Use::write);
            if (to.memory.dimensions == 2) {  // rope.h expects these two as batch and seq
                to.shape = {sizeof(rope_tensor),
                            to.shape.type,
                            to.memory.shape[0],
                            to.memory.shape[1],
                            1,
                            1,
                            to.memory.strides[0],
                            to.memory.strides[1],
                            1,
                            1};
            }
            const rope_config c = config.get();
            const rope_axes a = axes != nullptr ? axes->get() : rope_axes{};
            const Call call(nb::int_(0));
            checked([&](char* message, size_t room) {
                return rope_add_position_gradients(in.data, in.get(), axes != nullptr ? &a : nullptr, &c, seq_len,
                                                   call.get(), to.data, to.get(), message, room);
            });
        },
        "angles"_a, "config"_a, "out"_a, nb::kw_only(), "axes"_a.none() = nb::none(), "seq_len"_a = 0,
        "Adds the gradient of each position to out, float64 [axes, batch * seq], from angles [batch, seq, n, pairs].");
    m.def(
        "pass_backward",
        [](const CosSinRows* rows, const Path& path, nb::handle g, nb::handle dx, nb::handle dw, nb::handle positions,
           Layout layout) {
            Description description;
            description.add(path);
            const Array of_g = array(g, "g", Use::read), of_dx = array(dx, "dx", Use::write);
            const rope_tensor g_shape = tensor(of_g, "g", path.heads_first),
                              dx_shape = tensor(of_dx, "dx", path.heads_first);
            const Doubles of_dw(dw, "dw", Use::write);
            const Call call(positions, layout);
            checked([&](char* message, size_t room) {
                return rope_pass_backward(rows != nullptr ? rows->get() : nullptr, call.get(), call.ids(),
                                          description.paths().data(), of_g.data, &g_shape, of_dx.data, &dx_shape,
                                          of_dw.data, of_dw.get(), message, room);
            });
        },
        "rows"_a.none(), "path"_a, "g"_a, "dx"_a, "dw"_a = nb::none(), nb::kw_only(), "positions"_a = 0,
        "layout"_a = nb::none(),
        "Back through a norm and the rotation: path has a source, one norm, and a rotation or none. Writes dx; adds to "
        "dw, float64\n"
        "[1, weight_gradient_rows(batch, seq), heads of the weight, head_dim], whose sum over rows is the weight's "
        "gradient.");
    m.def("weight_gradient_rows", &rope_weight_gradient_rows, "batch"_a, "seq"_a,
          "How many rows the dw of pass_backward has.");
}

}  // namespace rotary
