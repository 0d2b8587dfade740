// SPDX-License-Identifier: MIT
// Definitions of TokenRows.
#pragma once

#include <new>
#include <utility>

#include "../../axis_map.hpp"
#include "../../axis_positions.hpp"
#include "../../errors.hpp"
#include "../../frequencies.hpp"
#include "../../positions.hpp"
#include "../../types.hpp"
#include "../base/executor.hpp"
#include "row_builder.hpp"
#include "schedule_rows.hpp"
#include "table_source.hpp"
#include "token_rows.hpp"

ROPE_SOURCE_BEGIN

template <class T>
ROPE_API TokenRows<T>::TokenRows(const char* name, bool has_two)
    : builder_(new (std::nothrow) RowBuilder<T>(*this, has_two)) {
    if (builder_ == nullptr) refuse(out_of_memory("There is no memory for rows."));
    this->name_ = name;
    this->by_position_ = false;
}
template <class T>
ROPE_API TokenRows<T>::TokenRows(const GivenSource& given, AxisMap&& map) : TokenRows("table of rows", false) {
    const TableSource source = table_source(given);
    ok_or_raise(source.status);
    ok_or_raise(check_map(source, map, source.f.log_growth.size()));
    builder_->make({}, source, std::move(map));
}
template <class T>
ROPE_API TokenRows<T>::~TokenRows() = default;

template <class T>
ROPE_API void TokenRows<T>::use_memory(T* memory, Index rows) noexcept {
    builder_->use_memory(memory, rows);
}
template <class T>
ROPE_API const AxisMap& TokenRows<T>::map() const noexcept {
    return builder_->map_;
}
template <class T>
ROPE_API const T* TokenRows<T>::find(Index row, Index i) const {
    if (row >= 0 && row < rows_) return this->source_.cos + row * this->source_.stride + i;
    refuse(out_of_range("row is {}; it must be at least 0 and below the number of rows ({}).", {row, rows_}));
}
template <class T>
ROPE_API void TokenRows<T>::replace_frequencies(const Frequencies& f) {
    builder_->replace_frequencies(f);
}
template <class T>
ROPE_API void TokenRows<T>::build_at(const Positions& positions, Index seq, Index batch, const AnyExecutor& executor) {
    builder_->build_at(positions, seq, batch, executor);
}
template <class T>
ROPE_API void TokenRows<T>::build_at(const AxisPositions& positions, Index seq, Index batch,
                                     const AnyExecutor& executor) {
    builder_->build_at(positions, seq, batch, executor);
}

ROPE_SOURCE_END
