// SPDX-License-Identifier: MIT
// The functions of rotate_call.hpp, for <rope/src.hpp>: a call as data, with the types that it had.
#pragma once

#include "../../errors.hpp"
#include "../../positions.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "rotate_call.hpp"
#include "run.hpp"

ROPE_DETAIL_BEGIN

inline const CosSinRows<float>& rows_of(const RotatedTensor& t, float) noexcept { return *t.rows; }
inline const CosSinRows<double>& rows_of(const RotatedTensor& t, double) noexcept { return *t.double_rows; }

/// f(an element) of a type that goes with rows of T.
template <class T, class F>
Status with_element(ElementType type, const F& f) {
    if constexpr (std::is_same_v<T, double>) {
        return f(double());
    } else {
        switch (type) {
            case ElementType::f32: return f(float());
            case ElementType::f16: return f(half());
            case ElementType::bf16: return f(bfloat16());
            case ElementType::f64:
            case ElementType::i8:
            case ElementType::u8:
            case ElementType::integer: break;  // no tensor of a call with such rows has these
        }
        return Status();
    }
}

template <Layout layout, class T>
Status rotate_typed(Direction direction, const Positions& positions, const AnyExecutor& executor,
                    RotatedTensors tensors) {
    const RotatedTensor &first = *tensors.begin(), &last = *(tensors.end() - 1);
    return with_element<T>(first.out.type, [&](auto x) {
        using X = decltype(x);
        const TensorView<X> out = typed<X>(first.out);
        const InPlace<const TensorView<X>&, T> in_place = {out, first.out.name, rows_of(first, T())};
        if (tensors.size() == 1 && !first.is_out_of_place)
            return rotate<layout>(direction, positions, executor, in_place);
        return with_element<T>(tensors.size() == 1 ? first.in.type : last.out.type, [&](auto y) {
            using Y = decltype(y);
            if (tensors.size() > 1) {
                const TensorView<Y> k = typed<Y>(last.out);
                const InPlace<const TensorView<Y>&, T> other = {k, last.out.name, rows_of(last, T())};
                return rotate<layout>(direction, positions, executor, in_place, other);
            }
            const TensorView<const Y> in = typed<const Y>(first.in);
            return rotate<layout>(
                direction, positions, executor,
                OutOfPlace<const TensorView<const Y>&, const TensorView<X>&, T>{in, out, rows_of(first, T())});
        });
    });
}

ROPE_DETAIL_END

ROPE_SOURCE_BEGIN

ROPE_API Status rotate_tensors(Direction direction, Layout layout, const Positions& positions,
                               const AnyExecutor& executor, RotatedTensors tensors) {
    const bool is_interleaved = layout == Layout::interleaved;
    if (tensors.begin()->rows != nullptr)
        return is_interleaved ? rotate_typed<Layout::interleaved, float>(direction, positions, executor, tensors)
                              : rotate_typed<Layout::half_split, float>(direction, positions, executor, tensors);
    return is_interleaved ? rotate_typed<Layout::interleaved, double>(direction, positions, executor, tensors)
                          : rotate_typed<Layout::half_split, double>(direction, positions, executor, tensors);
}

ROPE_API Status check_rotation(Direction direction, const Layout* layout, const Positions& positions,
                               RotatedTensors tensors) noexcept {
    Capabilities uses = direction == Direction::inverse ? kInverse : 0;
    if (layout != nullptr)
        uses = static_cast<Capabilities>(uses | (*layout == Layout::interleaved ? kInterleaved : kHalfSplit));
    const auto checked = [](const RotatedTensor& t) {
        return CheckedTensor{t.is_out_of_place ? t.in : t.out, t.out,
                             t.rows != nullptr ? shape_of(*t.rows) : shape_of(*t.double_rows)};
    };
    const RotatedTensor &first = *tensors.begin(), &last = *(tensors.end() - 1);
    return tensors.size() == 1 ? explain(positions, uses, {checked(first)})
                               : explain(positions, uses, {checked(first), checked(last)});
}

ROPE_SOURCE_END
