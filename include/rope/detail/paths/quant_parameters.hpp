// SPDX-License-Identifier: MIT
// Definitions of destinations.hpp: scales and zeros.
#pragma once

#include <type_traits>

#include "../../destinations.hpp"
#include "../../types.hpp"
#include "heads_in_memory.hpp"

ROPE_BEGIN

ROPE_ABI inline QuantParameter::QuantParameter(const Destination& made) noexcept {
    const detail::StoredHeads& d = made.data_;
    data_.numbers = d.codes;
    data_.has_format = d.format != nullptr;
    if (detail::is_byte(d.codes.type)) data_.use = detail::ZeroUse::whole_code;
}
template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int>>
ROPE_ABI QuantParameter::QuantParameter(Number number) noexcept {
    static_assert(!std::is_same_v<Number, bool>, "A scale or a zero is a number, not a bool.");
    data_.is_given = data_.is_number = true;
    if (std::is_integral_v<Number>) data_.use = detail::ZeroUse::whole_code;
    data_.number = static_cast<float>(number);
    const TensorView<const float> one = {nullptr, 1, 1, 1, 1};
    data_.numbers = detail::in_memory(one);
}

template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int>>
ROPE_ABI inline QuantParameter given(Number number) noexcept {
    return QuantParameter(number);
}
template <class T>
ROPE_ABI inline QuantParameter given(const TensorView<T>& v) noexcept {
    const QuantParameter made = v;
    detail::ParameterData data = detail::PathAccess::data(made);
    data.is_given = true;
    return detail::PathAccess::make<QuantParameter>(data);
}
template <class C, detail::IfParameterList<C>>
ROPE_ABI inline QuantParameter given(const C& list ROPE_LIFETIMEBOUND) noexcept {
    using T = detail::ContainerValue<C>;
    const TensorView<const T> v = {
        list.data(), 1, 1, 1, static_cast<Index>(list.size()), 0, 0, 0, detail::inner_stride(list)};
    const QuantParameter of_view = rope::given(v);
    detail::ParameterData data = detail::PathAccess::data(of_view);
    data.is_list = true;
    return detail::PathAccess::make<QuantParameter>(data);
}

template <class C, detail::IfParameterList<C>, detail::IfOwner<C>>
ROPE_ABI inline QuantParameter given(const C&&) noexcept {
    static_assert(detail::never<C>, "rope::given: this container is a temporary and would be gone. Give it a name.");
    return 1.0f;
}

ROPE_ABI inline QuantParameter zero_points(const QuantParameter& zeros) noexcept {
    detail::ParameterData data = detail::PathAccess::data(zeros);
    if (data.use == detail::ZeroUse::minimum) data.use = detail::ZeroUse::code;
    return detail::PathAccess::make<QuantParameter>(data);
}

ROPE_END
