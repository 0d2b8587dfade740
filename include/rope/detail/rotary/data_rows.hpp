// SPDX-License-Identifier: MIT
// DataRows, the base of AngleRows: rows of angles that are data.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include "../../config.hpp"
#include "../../cos_sin_rows.hpp"
#include "../../tensor_view.hpp"
#include "../../types.hpp"
#include "../base/executor.hpp"
#include "../views/any_view.hpp"

ROPE_BEGIN

/// A running sum of angles: (high * 2^64 + low) / 2^128 of a revolution.
struct AngleSum {
    ROPE_CROSSES_AGGREGATE(AngleSum)
    std::uint64_t high = 0, low = 0;
};

ROPE_END

ROPE_SOURCE_BEGIN

template <class T>
class DataRows : public CosSinRows<T> {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                  "Rows are float (they serve float, half and bfloat16 data) or double.");

 public:
    DataRows(const DataRows&) = delete;
    DataRows& operator=(const DataRows&) = delete;

    // ../../angle_rows.hpp describes these.
    ROPE_API void restart() noexcept;
    ROPE_API void use_sums(AngleSum* sums) noexcept;
    ROPE_ABI Index rows() const noexcept { return rows_; }
    ROPE_ABI const T* cos_row(Index row) const ROPE_LIFETIMEBOUND { return find(row, 0); }
    ROPE_ABI const T* sin_row(Index row) const ROPE_LIFETIMEBOUND { return find(row, entries()); }

 protected:
    ROPE_API DataRows(Index pairs, Index heads, HeadSlice slice);
    ~DataRows() = default;

    template <class X, class Executor>
    ROPE_ABI void build_of(const TensorView<X>& angles, bool are_steps, Executor& executor) {
        constexpr bool are_numbers = !std::is_void_v<typename ElementTraits<std::remove_const_t<X>>::storage>;
        static_assert(
            are_numbers,
            "Angles are float, double, rope::half or rope::bfloat16, or a type for which rope::ElementTraits names "
            "one of these.");
        if constexpr (are_numbers)
            build_from(erased("angles", angles), are_steps, any_executor(only_throwing(executor)));
    }

 private:
    ROPE_API void build_from(const AnyView& angles, bool are_steps, const AnyExecutor& executor);
    ROPE_API const T* find(Index row, Index i) const;

    /// Of a row: the pairs of all its heads.
    Index entries() const noexcept { return (this->heads_ > 0 ? this->heads_ : 1) * this->pairs_; }

    std::shared_ptr<T[]> memory_;
    std::unique_ptr<AngleSum[]> own_, next_;        // sums, and what they become once a build has ended
    AngleSum* given_ = nullptr;                     // the caller's sums, if any
    Index rows_ = 0, room_ = 0, room_of_sums_ = 0;  // rows that are built, and what there is memory for
    Index entries_of_sums_ = 0;                     // batch entries whose sums are under way
};

ROPE_SOURCE_END
