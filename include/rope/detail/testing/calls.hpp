// SPDX-License-Identifier: MIT
// How <rope/testing.hpp> calls a rotation: with a matrix of doubles as elements of its type, in a buffer with more
// elements around it. The element type ends here; whatever is measured is double.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "../base/eigen_core.hpp"

namespace rope {
inline namespace ROPE_VERSION_NAMESPACE {
namespace testing {
namespace detail_testing {

ROPE_ABI inline std::size_t size(Index n) noexcept { return static_cast<std::size_t>(n); }

/// An element type in numbers.
struct ROPE_ABI Format {
    const char* name;
    double u;        // unit roundoff of the arithmetic
    double narrow;   // unit roundoff of a 16-bit type, otherwise 0
    double tiny;     // what its smallest numbers cannot express
    double epsilon;  // the unit in which errors are told
};
template <class Storage>
inline constexpr Format kFormat = {};
template <>
inline constexpr Format kFormat<float> = {"float", 0x1p-24, 0.0, 0x1p-126, 0x1p-23};
template <>
inline constexpr Format kFormat<double> = {"double", 0x1p-53, 0.0, 0x1p-1022, 0x1p-52};
template <>
inline constexpr Format kFormat<half> = {"half", 0x1p-24, 0x1p-11, 0x1p-24, 0x1p-10};
template <>
inline constexpr Format kFormat<bfloat16> = {"bfloat16", 0x1p-24, 0x1p-8, 0x1p-126, 0x1p-7};

constexpr Index kGuard = 64;          // elements watched on either side of a buffer
constexpr double kNotFinite = 1e200;  // an error that stays a number under -ffast-math

/// A matrix as elements of type T, lent to a rotation, and back as a matrix.
template <class T>
struct ROPE_ABI Caller {
    using Storage = typename ElementTraits<T>::storage;
    using Compute = std::conditional_t<std::is_same_v<Storage, double>, double, float>;
    static_assert(!std::is_void_v<Storage>, "T must be an element type: float, double, rope::half, ...");

    Index heads;
    Index head_dim;

    ROPE_ABI static T element(double x) {
        static_assert(sizeof(T) == sizeof(Storage), "T must have the bits of its storage type");
        Storage stored;
        rope::detail::Element<Compute, Storage>::store(&stored, static_cast<Compute>(x));
        T result;
        std::memcpy(static_cast<void*>(&result), &stored, sizeof(T));
        return result;
    }
    ROPE_ABI static double number(const T& x) {
        Storage stored;
        std::memcpy(&stored, static_cast<const void*>(&x), sizeof(T));
        return static_cast<double>(rope::detail::Element<Compute, Storage>::load(&stored));
    }

    /// Numbers from -1 to 1 that T can hold; one column per head.
    ROPE_ABI Eigen::MatrixXd random(Index seq, std::mt19937_64& engine) const {
        Eigen::MatrixXd x(head_dim, seq * heads);
        for (Index i = 0; i < x.size(); ++i)
            x.data()[i] = number(element(static_cast<double>(engine() >> 11) * 0x1p-52 - 1.0));
        return x;
    }

    /// What the function makes of x, in a buffer with kGuard ones on either side. `around`, where given, is what
    /// became of those.
    template <class F>
    ROPE_ABI Eigen::MatrixXd operator()(F& f, const Eigen::MatrixXd& x, const Index* positions,
                                        std::vector<double>* around = nullptr) const {
        std::vector<T> buffer(size(x.size() + 2 * kGuard), element(1.0));
        T* const begin = buffer.data() + kGuard;
        T* const end = begin + x.size();
        // Lambdas, because their types have the tag of this function in their names; a pointer's type has none.
        const auto to_element = [](double value) { return element(value); };
        const auto to_number = [](const T& value) { return number(value); };
        std::transform(x.data(), x.data() + x.size(), begin, to_element);
        f(begin, x.cols() / heads, heads, positions);
        Eigen::MatrixXd y(x.rows(), x.cols());
        std::transform(begin, end, y.data(), to_number);
        if (around != nullptr) {
            around->resize(size(2 * kGuard));
            std::transform(begin - kGuard, begin, around->begin(), to_number);
            std::transform(end, end + kGuard, around->begin() + kGuard, to_number);
        }
        return y;
    }
};

}  // namespace detail_testing
}  // namespace testing
}  // namespace ROPE_VERSION_NAMESPACE
}  // namespace rope
