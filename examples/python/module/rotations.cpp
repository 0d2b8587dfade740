// SPDX-License-Identifier: MIT
#include "rows.hpp"

namespace rotary {
namespace {

using namespace nb::literals;

// apply, apply_inverse and apply_transpose, of one tensor or of two, in place or into another.
void bind_direction(nb::module_& m, const char* name, int32_t direction, const char* does) {
    const std::string in_place = std::string(does) +
                                 R"( x, or q and k, in place. Neither q nor k is written if one of them is refused.

x: [batch, seq, heads, head_dim] or [seq, heads, head_dim], with heads_first [batch, heads, seq, head_dim] or
[heads, seq, head_dim]; any strides; float64 with rows of float64; float32, float16, bfloat16 with rows of float32.
q and k may differ in heads. positions: the first one; or [seq] or [batch, seq], whole numbers; or Starts. k_rows: the rows of k,
if they are others (xPos). layout: 'half_split' or 'interleaved', where the rows have none. Raises ValueError, and IndexError for
positions that the rows do not have; nothing is written then. The largest error is that of cos and sin, and 1 ulp of a pair's length
in the dtype.)";
    m.def(
        name,
        [direction](nb::handle x, const CosSinRows& rows, nb::handle positions, Layout layout, bool heads_first) {
            const Array a = array(x, "x", Use::write);
            const rope_tensor shape = tensor(a, "x", heads_first);
            const Call call(positions, layout, direction);
            checked([&](char* message, size_t room) {
                return rope_apply(rows.get(), call.get(), call.ids(), a.data, &shape, message, room);
            });
        },
        "x"_a, "rows"_a, "positions"_a = 0, nb::kw_only(), "layout"_a = nb::none(), "heads_first"_a = false,
        in_place.c_str());
    m.def(
        name,
        [direction](nb::handle q, nb::handle k, const CosSinRows& rows, nb::handle positions, const CosSinRows* k_rows,
                    Layout layout, bool heads_first) {
            const Array a = array(q, "q", Use::write), b = array(k, "k", Use::write);
            const rope_tensor q_shape = tensor(a, "q", heads_first), k_shape = tensor(b, "k", heads_first);
            const Call call(positions, layout, direction);
            checked([&](char* message, size_t room) {
                return rope_apply_qk(rows.get(), k_rows != nullptr ? k_rows->get() : nullptr, call.get(), call.ids(),
                                     a.data, &q_shape, b.data, &k_shape, message, room);
            });
        },
        "q"_a, "k"_a, "rows"_a, "positions"_a = 0, nb::kw_only(), "k_rows"_a.none() = nb::none(),
        "layout"_a = nb::none(), "heads_first"_a = false);
    m.def((std::string(name) + "_copy").c_str(),
          [direction](nb::handle x, nb::handle out, const CosSinRows& rows, nb::handle positions, Layout layout,
                      bool heads_first) {
              const Array a = array(x, "x", Use::read), b = array(out, "out", Use::write);
              const rope_tensor in_shape = tensor(a, "x", heads_first), out_shape = tensor(b, "out", heads_first);
              const Call call(positions, layout, direction);
              checked([&](char* message, size_t room) {
                  return rope_apply_copy(rows.get(), call.get(), call.ids(), a.data, &in_shape, b.data, &out_shape,
                                         message, room);
              });
          },
          "x"_a, "out"_a, "rows"_a, "positions"_a = 0, nb::kw_only(), "layout"_a = nb::none(), "heads_first"_a = false,
          (std::string(does) + " x into out, of the same shape; dtype and strides are its own. See " + name + ".")
              .c_str());
}

}  // namespace

void bind_rotations(nb::module_& m) {
    nb::class_<Starts>(
        m, "Starts", "A first position for each batch entry, whole numbers [batch]: for left-padded or packed batches.")
        .def(nb::init<nb::object>(), "ids"_a);
    bind_direction(m, "apply", ROPE_FORWARD, "Rotates");
    bind_direction(m, "apply_inverse", ROPE_INVERSE, "Undoes apply, with its attention factor:");
    bind_direction(m, "apply_transpose", ROPE_TRANSPOSE,
                   "Rotates back and multiplies by the attention factor, as gradients go:");
}

}  // namespace rotary
