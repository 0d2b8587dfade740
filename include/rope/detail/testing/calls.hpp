// SPDX-License-Identifier: MIT
// Calls of a rotation for <rope/testing.hpp>: a matrix of doubles becomes elements of its type, in a buffer with more
// elements around it. The element type ends here; all measurements are double.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "../../types.hpp"
#include "../base/arithmetic.hpp"
#include "../base/eigen_core.hpp"

ROPE_BEGIN
namespace testing {
namespace detail_testing {

ROPE_ABI inline std::size_t size(Index n) noexcept { return static_cast<std::size_t>(n); }

/// The numbers of an element type.
struct ROPE_ABI Format {
    const char* name;
    double u;        // half an ulp of 1 of the arithmetic
    double narrow;   // half an ulp of 1 of a 16-bit type, otherwise 0
    double tiny;     // absolute error near its smallest numbers
    double epsilon;  // errors are told in multiples of it
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

/// Converts a matrix to elements of type T, calls a rotation with them, and converts them back.
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

    /// Applies the function to x in a buffer with kGuard ones on either side. `around`, if not null, takes these ones
    /// as the function leaves them.
    template <class F>
    ROPE_ABI Eigen::MatrixXd operator()(F& f, const Eigen::MatrixXd& x, const Index* positions,
                                        std::vector<double>* around = nullptr) const {
        std::vector<T> buffer(size(x.size() + 2 * kGuard), element(1.0));
        T* const begin = buffer.data() + kGuard;
        T* const end = begin + x.size();
        // Lambdas, because their types have the ABI tag of this function in their names; the type of a pointer has
        // none.
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
ROPE_END
