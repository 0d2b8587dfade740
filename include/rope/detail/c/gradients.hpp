// SPDX-License-Identifier: MIT
// rope.h: gradients, and the instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "../../errors.hpp"
#include "../../gradients.hpp"
#include "../../isa.hpp"
#include "../../rope.h"
#include "../../types.hpp"
#include "../gradients/gradients.hpp"
#include "../views/any_view.hpp"
#include "answers.hpp"
#include "arguments.hpp"
#include "calls.hpp"
#include "configs.hpp"
#include "handles.hpp"
#include "passes.hpp"

ROPE_DETAIL_BEGIN

/// Doubles that may be left out.
inline Status read_output(const char* name, const char* shape_name, const rope_tensor* shape, double* data,
                          AnyView& view) noexcept {
    view = erased(name, TensorView<double>());
    if (data == nullptr && shape == nullptr) return Status();
    if (const Status s = read_doubles(name, shape_name, shape, data, view); !s.ok()) return s;
    set_effective_strides(view);
    return Status();
}

extern "C" {

ROPE_C_API int32_t rope_add_angle_gradients(const rope_rows* rows, const rope_call* call, const void* y,
                                            const rope_tensor* y_shape, const void* g, const rope_tensor* g_shape,
                                            double* angles, const rope_tensor* angles_shape, double* magnitudes,
                                            const rope_tensor* magnitudes_shape, char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_handle("rows", rows); !s.ok()) return s;
        Call c;
        if (const Status s = c.read(call); !s.ok()) return s;
        if (const Status s = c.refuse_rotation(); !s.ok()) return s;
        AngleCall a;
        if (const Status s = read_rotated("y", "y_shape", y_shape, y, *rows, a.y); !s.ok()) return s;
        if (const Status s = read_rotated("g", "g_shape", g_shape, g, *rows, a.g); !s.ok()) return s;
        set_effective_strides(a.y);
        set_effective_strides(a.g);
        if (const Status s = read_output("angles", "angles_shape", angles_shape, angles, a.angles); !s.ok()) return s;
        if (const Status s = read_output("magnitudes", "magnitudes_shape", magnitudes_shape, magnitudes, a.magnitudes);
            !s.ok())
            return s;
        return with_rows_and_layout(c, *rows, [&](auto layout, const auto& r) {
            constexpr Layout kLayout = decltype(layout)::value;
            return c.only_checks ? check_angles<kLayout>(a, r) : run_angles<kLayout>(c.threads.any(), a, r);
        });
    });
}

ROPE_C_API int32_t rope_add_frequency_gradients(const double* angles, const rope_tensor* angles_shape,
                                                const rope_axes* axes, const rope_call* call, const void* ids,
                                                double* out, const rope_tensor* out_shape, char* message, size_t room) {
    return answer(message, room, [&] {
        AnyView from, to;
        if (const Status s = read_doubles("angles", "angles_shape", angles_shape, angles, from); !s.ok()) return s;
        if (const Status s = read_doubles("out", "out_shape", out_shape, out, to); !s.ok()) return s;
        AxisMap map;
        if (const Status s = read_axes(axes, map); !s.ok()) return s;
        Call c;
        if (const Status s = c.read(call); !s.ok()) return s;
        if (const Status s = check_axes_beside(axes, c); !s.ok()) return s;
        return with_any_positions("call", c.pointer(), ids, [&](const auto& positions) {
            const TensorView<const double> given = typed<const double>(from);
            const TensorView<double> made = typed<double>(to);
            if (!c.only_checks) return run_frequencies(c.threads.any(), given, positions, map, made);
            if constexpr (std::is_same_v<std::decay_t<decltype(positions)>, Positions>)
                return check_frequency_gradients(given, positions, made);
            else
                return check_frequency_gradients(given, positions, map, made);
        });
    });
}

ROPE_C_API int32_t rope_add_position_gradients(const double* angles, const rope_tensor* angles_shape,
                                               const rope_axes* axes, const rope_config* config, int64_t seq_len,
                                               const rope_call* call, double* out, const rope_tensor* out_shape,
                                               char* message, size_t room) {
    return answer(message, room, [&] {
        AnyView from, to;
        if (const Status s = read_doubles("angles", "angles_shape", angles_shape, angles, from); !s.ok()) return s;
        if (const Status s = read_doubles("out", "out_shape", out_shape, out, to); !s.ok()) return s;
        RowsOrigin origin;
        if (const Status s = read_origin(config, axes, origin); !s.ok()) return s;
        Call c;
        if (const Status s = c.read(call); !s.ok()) return s;
        if (const Status s = c.refuse_rotation(); !s.ok()) return s;
        const Frequencies f = origin.frequencies ? *origin.frequencies : frequencies(origin.config, seq_len);
        const TensorView<const double> given = typed<const double>(from);
        const TensorView<double> made = typed<double>(to);
        return c.only_checks ? check_position_gradients(given, f, origin.map, made)
                             : run_positions(c.threads.any(), given, f, origin.map, made);
    });
}

ROPE_C_API int32_t rope_pass_backward(const rope_rows* rows, const rope_call* call, const void* ids,
                                      const rope_path* path, const void* g, const rope_tensor* g_shape, void* dx,
                                      const rope_tensor* dx_shape, double* dw, const rope_tensor* dw_shape,
                                      char* message, size_t room) {
    return answer(message, room, [&] {
        if (const Status s = check_handle("rows", rows); !s.ok()) return s;
        Call c;
        if (const Status s = c.read(call, ids); !s.ok()) return s;
        if (const Status s = c.refuse_direction(); !s.ok()) return s;
        Paths one;
        if (const Status s = one.read(path, 1); !s.ok()) return s;
        BackwardCall b;
        if (const Status s = read_rotated("g", "g_shape", g_shape, g, *rows, b.g); !s.ok()) return s;
        if (const Status s = read_rotated("dx", "dx_shape", dx_shape, dx, *rows, b.dx); !s.ok()) return s;
        set_effective_strides(b.g);
        set_effective_strides(b.dx);
        if (const Status s = read_output("dw", "dw_shape", dw_shape, dw, b.dw); !s.ok()) return s;
        return with_rows_and_layout(c, *rows, [&](auto layout, const auto& r) {
            constexpr Layout kLayout = decltype(layout)::value;
            return c.only_checks ? check_backward<kLayout>(r, c.positions, one.first(), b)
                                 : run_backward<kLayout>(c.threads.any(), r, c.positions, one.first(), b);
        });
    });
}

ROPE_C_API int64_t rope_weight_gradient_rows(int64_t batch, int64_t seq) { return weight_gradient_rows(batch, seq); }

ROPE_C_API int32_t rope_add_row_sums(const double* rows, const rope_tensor* rows_shape, const rope_call* call,
                                     double* out, const rope_tensor* out_shape, char* message, size_t room) {
    return answer(message, room, [&] {
        AnyView from, to;
        if (const Status s = read_doubles("rows", "rows_shape", rows_shape, rows, from); !s.ok()) return s;
        if (const Status s = read_doubles("out", "out_shape", out_shape, out, to); !s.ok()) return s;
        Call c;
        if (const Status s = c.read(call); !s.ok()) return s;
        if (const Status s = c.refuse_rotation(); !s.ok()) return s;
        return c.only_checks ? check_row_sums(typed<const double>(from), typed<double>(to))
                             : run_row_sums(c.threads.any(), typed<const double>(from), typed<double>(to));
    });
}

ROPE_C_API const char* rope_version(void) { return ROPE_VERSION_STRING; }

ROPE_C_API const char* rope_active_isa(void) {
    const char* name = nullptr;
    const auto find = [&] {
        name = active_isa();
        return Status();
    };
    return answer(nullptr, 0, find) == ROPE_OK ? name : nullptr;
}
ROPE_C_API const char* rope_available_isa(int64_t i) {
    const IsaNames names = available_isas();
    return i >= 0 && i < names.size() ? names[i] : nullptr;
}
ROPE_C_API int32_t rope_force_isa(const char* name, char* message, size_t room) {
    return answer(message, room, [&] {
        force_isa(name);
        return Status();
    });
}

}  // extern "C"

ROPE_DETAIL_END
