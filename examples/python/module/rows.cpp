// SPDX-License-Identifier: MIT
#include "config.hpp"

#include <nanobind/stl/vector.h>

namespace rotary {
namespace {

using namespace nb::literals;

rope_axes axes_with(int32_t scheme, const std::vector<int64_t>& sections) {
    rope_axes a = {};
    a.size = sizeof(a);
    a.scheme = scheme;
    a.count = static_cast<int64_t>(sections.size());
    if (sections.empty() || sections.size() > 8) {
        raise_value("sections has " + std::to_string(sections.size()) + " numbers; 1 to 8 are allowed.");
    }
    std::copy(sections.begin(), sections.end(), a.sections);
    return a;
}

void bind_axes(nb::module_& m) {
    nb::class_<AxisMap>(
        m, "AxisMap", "The axis of positions that each pair of features follows: made by mrope_sections and its kind.")
        .def_prop_ro("axes", &AxisMap::axes, "How many axes positions have.");
    const struct {
        const char* name;
        int32_t scheme;
        const char* doc;
    } schemes[] = {
        {"mrope_sections", ROPE_SECTIONS, "Axes in sections of so many pairs each, as Qwen2-VL: [16, 24, 24]."},
        {"mrope_interleaved", ROPE_INTERLEAVED_AXES, "Axes in turn, pair by pair, as Qwen3-VL: [24, 20, 20]."},
        {"mrope_interleaved_4", ROPE_INTERLEAVED_AXES_4,
         "The same as in ggml, where pairs that are left over follow a fourth axis."},
        {"mrope_alternating", ROPE_ALTERNATING_AXES,
         "Height and width alternate, then time, as Ernie 4.5 VL: [22, 22, 20]."},
        {"mrope_apportioned", ROPE_APPORTIONED_AXES, "Axes dealt out in proportion, as openPangu VL."},
    };
    for (const auto& s : schemes) {
        m.def(
            s.name,
            [scheme = s.scheme](const std::vector<int64_t>& sections) {
                return AxisMap{axes_with(scheme, sections), {}};
            },
            "sections"_a, s.doc);
    }
    m.def(
        "mixed_axes",
        [](int64_t axes) {
            AxisMap a;
            a.members.size = sizeof(rope_axes);
            a.members.scheme = ROPE_MIXED_AXES;
            a.members.count = axes;
            return a;
        },
        "axes"_a,
        "Each pair follows all axes, with a frequency for each: the numbers of a Custom schedule (rope-vit).");
    m.def(
        "listed_axes",
        [](const std::vector<int64_t>& axis_of) {
            AxisMap a;
            a.members.size = sizeof(rope_axes);
            a.members.scheme = ROPE_LISTED_AXES;
            for (int64_t axis : axis_of) {
                if (axis < 0 || axis > 7) raise_value("axis_of has " + std::to_string(axis) + "; 0 to 7 are allowed.");
                a.axis_of.push_back(static_cast<unsigned char>(axis));
            }
            return a;
        },
        "axis_of"_a, "The axis of each pair, one number from 0 to 7 for each.");
}

int64_t axes_of(const AxisMap* map) { return map == nullptr ? 1 : map->axes(); }

void bind_base(nb::module_& m) {
    nb::class_<CosSinRows>(m, "CosSinRows",
                           "Rows of cosines and sines: what apply and its kind take. Made by the classes below.")
        .def_prop_ro("head_dim", [](const CosSinRows& r) { return r.info().head_dim; })
        .def_prop_ro("pairs", [](const CosSinRows& r) { return r.info().pairs; })
        .def_prop_ro("rotary_offset", [](const CosSinRows& r) { return r.info().rotary_offset; })
        .def_prop_ro(
            "layout", [](const CosSinRows& r) { return layout_name(r.info().layout); },
            "'half_split', 'interleaved', or None: any.")
        .def_prop_ro("dtype",
                     [](const CosSinRows& r) { return nb::str(r.info().type == ROPE_FLOAT64 ? "float64" : "float32"); })
        .def_prop_ro("attention_factor", [](const CosSinRows& r) { return r.info().attention_factor; })
        .def_prop_ro("first_position", [](const CosSinRows& r) { return r.info().first_position; })
        .def("__len__", [](const CosSinRows& r) { return r.info().rows; });
}

void bind_tables(nb::module_& m) {
    nb::class_<CosSinCache, CosSinRows>(
        m, "CosSinCache",
        R"(A table of cos and sin by position: within 0.501 ulp in float32 below 2^31, 0.75 ulp in float64 below 2^22.

max_positions: how many, from first_position on. dtype: 'float32', for data of up to 32 bits, or 'float64', for data of 64.
seq_len: of DynamicNtk and LongRope. is_compact: a few megabytes for millions of positions. is_float32_chain: the table that
eager float32 frameworks compute, with its errors. Raises ValueError and MemoryError.)")
        .def(
            "__init__",
            [](CosSinCache* self, const Config& config, int64_t max_positions, const char* dtype,
               int64_t first_position, int64_t seq_len, bool is_compact, bool is_float32_chain) {
                const rope_config c = config.get();
                rope_table_options o = {};
                o.size = sizeof(o);
                o.type = table_type_of(dtype);
                o.max_positions = max_positions;
                o.first_position = first_position;
                o.seq_len = seq_len;
                o.is_compact = is_compact ? 1 : 0;
                o.is_float32_chain = is_float32_chain ? 1 : 0;
                auto handle = owned_rows([&](rope_rows** rows, char* message, size_t room) {
                    return rope_table_new(&c, &o, rows, message, room);
                });
                auto* made = new (self) CosSinCache();
                made->handle = std::move(handle);
            },
            "config"_a, "max_positions"_a, nb::kw_only(), "dtype"_a = "float32", "first_position"_a = 0,
            "seq_len"_a = 0, "is_compact"_a = false, "is_float32_chain"_a = false);

    nb::class_<Rows, CosSinRows>(
        m, "Rows",
        R"(One row for each token of a step, built once per step for all layers: positions on several axes, fractions.

axes: the axis of each pair; None: one axis. apply reads row s for token s, unless its positions say other rows.)")
        .def(
            "__init__",
            [](Rows* self, const Config& config, const AxisMap* axes, const char* dtype, int64_t seq_len) {
                const rope_config c = config.get();
                rope_table_options o = {};
                o.size = sizeof(o);
                o.type = table_type_of(dtype);
                o.seq_len = seq_len;
                const rope_axes a = axes != nullptr ? axes->get() : rope_axes{};
                auto handle = owned_rows([&](rope_rows** rows, char* message, size_t room) {
                    return rope_token_rows_new(&c, axes != nullptr ? &a : nullptr, &o, rows, message, room);
                });
                auto* made = new (self) Rows();
                made->handle = std::move(handle);
                made->axes = axes_of(axes);
            },
            "config"_a, nb::kw_only(), "axes"_a.none() = nb::none(), "dtype"_a = "float32", "seq_len"_a = 0)
        .def(
            "build",
            [](Rows& r, nb::handle positions, std::optional<int64_t> seq, int64_t batch) {
                const Call call = Call::of_tokens(positions, r.axes, seq, batch);
                checked([&](char* message, size_t room) {
                    return rope_rows_build(r.get(), call.get(), call.ids(), call.seq(), call.batch(), message, room);
                });
            },
            "positions"_a, nb::kw_only(), "seq"_a = nb::none(), "batch"_a = 1,
            "Makes the rows of batch * seq tokens at positions from -2^52 to 2^52.\n\n"
            "positions: [seq], [batch, seq], [axes, seq] or [axes, batch, seq], whole numbers or floats; [seq] and "
            "[batch, seq] are for all axes. A number: positions, positions + 1, ..., seq of them.");

    nb::class_<WrappedRows, CosSinRows>(m, "WrappedRows",
                                        R"(Cosines and sines that another program has made, read in place.

cos, sin: float32 or float64, [rows, n] or [batch, rows, n], the n numbers of a row side by side. pairs: how many of them
count (None: all n). The rows of transformers hold each number twice: pairs is n // 2. head_dim: 2 * pairs if None.
attention_factor: a factor that the numbers contain, which the inverse divides out.)")
        .def(
            "__init__",
            [](WrappedRows* self, nb::handle cos, nb::handle sin, std::optional<int64_t> pairs,
               std::optional<int64_t> head_dim, int64_t rotary_offset, double attention_factor) {
                Array c = kept_array(cos, "cos"), s = kept_array(sin, "sin");
                if (attention_factor == 0) raise_value("attention_factor is 0; other numbers are allowed.");
                const bool same = c.type == s.type && c.dimensions == s.dimensions &&
                                  std::equal(c.shape, c.shape + c.dimensions, s.shape) &&
                                  std::equal(c.strides, c.strides + c.dimensions, s.strides);
                if (!same) raise_value("sin differs from cos in dtype, shape or strides; the same are allowed.");
                if (c.dimensions != 2 && c.dimensions != 3) {
                    raise_value("cos has " + std::to_string(c.dimensions) +
                                " dimensions; [rows, n] and [batch, rows, n] are allowed.");
                }
                const int row = c.dimensions - 2;
                rope_wrapped w = {};
                w.size = sizeof(w);
                w.type = c.type;
                w.batch = c.dimensions == 3 ? c.shape[0] : 1;
                w.rows = c.shape[row];
                w.pairs = pairs.value_or(c.shape[row + 1]);
                w.row_stride = w.rows > 1 ? c.strides[row] : c.shape[row + 1];
                if (w.pairs > c.shape[row + 1]) {
                    raise_value("pairs is " + std::to_string(w.pairs) + "; at most " +
                                std::to_string(c.shape[row + 1]) + ", the numbers of a row, are allowed.");
                }
                const bool is_dense = (c.shape[row + 1] <= 1 || c.strides[row + 1] == 1) && w.row_stride >= w.pairs &&
                                      (w.batch <= 1 || c.strides[0] == w.rows * w.row_stride);
                if (!is_dense) raise_value("cos has strides with gaps; rows of numbers side by side are allowed.");
                w.head_dim = head_dim.value_or(0);
                w.rotary_offset = rotary_offset;
                w.attention_factor = attention_factor;
                auto handle = owned_rows([&](rope_rows** rows, char* message, size_t room) {
                    return rope_wrap(c.data, s.data, &w, rows, message, room);
                });
                auto* made = new (self) WrappedRows();
                made->handle = std::move(handle);
                made->memory = {std::move(c), std::move(s)};
            },
            "cos"_a, "sin"_a, nb::kw_only(), "pairs"_a = nb::none(), "head_dim"_a = nb::none(), "rotary_offset"_a = 0,
            "attention_factor"_a = 1.0);
}

void bind_moves(nb::module_& m) {
    nb::class_<Moves, CosSinRows>(m, "Moves", R"(Moves of cached keys from one position to another, for reposition.

config: the Config whose rows rotated the keys. to: the Config that they are converted to; None: the same.)")
        .def(
            "__init__",
            [](Moves* self, const Config& config, const Config* to, const AxisMap* axes, const char* dtype,
               int64_t seq_len, int64_t to_seq_len) {
                const rope_config from = config.get();
                const rope_config other = to != nullptr ? to->get() : rope_config{};
                const rope_axes a = axes != nullptr ? axes->get() : rope_axes{};
                rope_table_options options[2] = {};
                options[0].size = options[1].size = sizeof(rope_table_options);
                options[0].type = table_type_of(dtype);
                options[0].seq_len = seq_len;
                options[1].seq_len = to_seq_len;
                auto handle = owned_rows([&](rope_rows** rows, char* message, size_t room) {
                    return rope_moves_new(&from, options, to != nullptr ? &other : nullptr,
                                          to != nullptr ? options + 1 : nullptr, axes != nullptr ? &a : nullptr, rows,
                                          message, room);
                });
                auto* made = new (self) Moves();
                made->handle = std::move(handle);
                made->axes = axes_of(axes);
            },
            "config"_a, nb::kw_only(), "to"_a.none() = nb::none(), "axes"_a.none() = nb::none(), "dtype"_a = "float32",
            "seq_len"_a = 0, "to_seq_len"_a = 0)
        .def(
            "build",
            [](Moves& r, int64_t delta) {
                checked([&](char* message, size_t room) { return rope_moves_build(r.get(), delta, message, room); });
            },
            "delta"_a, "All keys by delta positions, on every axis.")
        .def(
            "build_each",
            [](Moves& r, nb::handle deltas, std::optional<int64_t> seq, int64_t batch) {
                const Call call = Call::of_tokens(deltas, 1, seq, batch);
                checked([&](char* message, size_t room) {
                    return rope_moves_build_each(r.get(), call.get(), call.ids(), call.seq(), call.batch(), message,
                                                 room);
                });
            },
            "deltas"_a, nb::kw_only(), "seq"_a = nb::none(), "batch"_a = 1,
            "Each token by a number of positions of its own, [seq] or [batch, seq].")
        .def(
            "build_between",
            [](Moves& r, nb::handle old_positions, nb::handle new_positions, std::optional<int64_t> seq,
               int64_t batch) {
                const Call before = Call::of_tokens(old_positions, r.axes, seq, batch);
                const Call after = Call::of_tokens(new_positions, r.axes, before.seq(), before.batch());
                checked([&](char* message, size_t room) {
                    return rope_moves_build_between(r.get(), before.get(), before.ids(), after.get(), after.ids(),
                                                    before.seq(), before.batch(), message, room);
                });
            },
            "old_positions"_a, "new_positions"_a, nb::kw_only(), "seq"_a = nb::none(), "batch"_a = 1,
            "Each token from an old position to a new one, both as for Rows.build.");
}

}  // namespace

rope_rows_info CosSinRows::info() const {
    rope_rows_info i = {};
    i.size = sizeof(i);
    checked([&](char* message, size_t room) { return rope_rows_describe(get(), &i, message, room); });
    return i;
}

void bind_rows(nb::module_& m) {
    bind_axes(m);
    bind_base(m);
    bind_tables(m);
    bind_moves(m);
    m.def(
        "write_rows",
        [](const CosSinRows& rows, nb::handle out, nb::handle positions, const AxisMap* axes) {
            const Array to = array(out, "out", Use::write);
            const rope_rows_info info = rows.info();
            if ((to.dimensions != 2 && to.dimensions != 3) || !to.is_contiguous() || to.type != info.type ||
                to.shape[to.dimensions - 1] != 2 * info.pairs) {
                raise_value(
                    "out has another shape, dtype or strides than contiguous [seq, 2 * pairs] or [batch, seq, 2 * "
                    "pairs] of "
                    "the rows' dtype with pairs = " +
                    std::to_string(info.pairs) + ".");
            }
            const int64_t seq = to.shape[to.dimensions - 2], batch = to.dimensions == 3 ? to.shape[0] : 1;
            const Call call = Call::of_tokens(positions, axes != nullptr ? axes_of(axes) : 1, seq, batch);
            if (call.batch() != batch || call.seq() != seq) {
                raise_value("positions have another batch or seq than out; the same are allowed.");
            }
            const rope_axes a = axes != nullptr ? axes->get() : rope_axes{};
            checked([&](char* message, size_t room) {
                return rope_rows_write(rows.get(), axes != nullptr ? &a : nullptr, call.get(), call.ids(), seq, batch,
                                       to.data, message, room);
            });
        },
        "rows"_a, "out"_a, "positions"_a = 0, nb::kw_only(), "axes"_a.none() = nb::none(),
        "Writes the rows of tokens to out, [seq, 2 * pairs] or [batch, seq, 2 * pairs]: of each the cosines, then the "
        "sines.");
}

}  // namespace rotary
