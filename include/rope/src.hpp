// SPDX-License-Identifier: MIT
// The functions of the library, compiled once: for programs all of whose translation units define
// ROPE_SEPARATE_COMPILATION. One of their source files is
//
//     #include <rope/src.hpp>
//
// and nothing before it; the others include what they use, as always. It needs no instruction set in its flags: it holds
// kernels for each. (CMake has that file as the target rope::compiled.)
#pragma once

#if !defined(ROPE_SEPARATE_COMPILATION)
#    error "rope/src.hpp is for programs that define ROPE_SEPARATE_COMPILATION in all translation units"
#endif
#if defined(ROPE_VERSION_MAJOR)
#    error "rope/src.hpp must come before all other headers of rope, which would be declarations only"
#endif
#define ROPE_SOURCE

#include "compact_cos_sin_cache.hpp"
#include "core.hpp"
#include "heads.hpp"
#include "moves.hpp"
#include "rotary_embedding.hpp"
#include "rows.hpp"
#include "shared_table.hpp"
#include "wrapped_rows.hpp"
#include "write_rows.hpp"

#include "detail/base/hide_macros.hpp"

#include "detail/call/rotate_tensors.hpp"

ROPE_SOURCE_BEGIN

template class SourcedRows<float>;
template class SourcedRows<double>;
template class PositionTable<float>;
template class PositionTable<double>;
template class CompactTable<float>;
template class CompactTable<double>;
template class TokenRows<float>;
template class TokenRows<double>;
template class MoveRows<float>;
template class MoveRows<double>;
template CosSinView<float> write_rows_of(const CosSinRows<float>&, const Positions&, const AxisPositions*,
                                         const AxisMap*, Index, Index, float*, const AnyExecutor&);
template CosSinView<double> write_rows_of(const CosSinRows<double>&, const Positions&, const AxisPositions*,
                                          const AxisMap*, Index, Index, double*, const AnyExecutor&);

#define ROPE_SOURCE_PATHS(layout, T)                                                                           \
    template Status run_paths<Layout::layout, T>(const AnyExecutor&, const CosSinRows<T>&, const Positions&,   \
                                                 const Path* const*, Index);                                   \
    template Status check_paths<Layout::layout, T>(const CosSinRows<T>&, const Positions&, const Path* const*, \
                                                   Index) noexcept;
ROPE_SOURCE_PATHS(interleaved, float)
ROPE_SOURCE_PATHS(interleaved, double)
ROPE_SOURCE_PATHS(half_split, float)
ROPE_SOURCE_PATHS(half_split, double)
#undef ROPE_SOURCE_PATHS

ROPE_SOURCE_END

ROPE_BEGIN

template class WrappedRows<float>;
template class WrappedRows<double>;
template class RotaryEmbedding<float>;
template class RotaryEmbedding<double>;
template class RotaryStep<float>;
template class RotaryStep<double>;
template CosSinCache<float> shared_table(const Frequencies&, Index, HeadSlice);
template CosSinCache<double> shared_table(const Frequencies&, Index, HeadSlice);

ROPE_END

#include "detail/base/restore_macros.hpp"
