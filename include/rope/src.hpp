// SPDX-License-Identifier: MIT
// The functions of the library, compiled once: for programs all of whose translation units define
// ROPE_SEPARATE_COMPILATION. One of their source files is
//
//     #include <rope/src.hpp>
//
// and nothing before it; the others include what they use, as always. It needs no instruction set in its flags, since it
// holds kernels for each, and may have none that is newer than the oldest machine of the program: all translation units
// run these functions. In a shared object with hidden symbols, ROPE_SOURCE_EXPORTS makes it export them. (CMake has that
// file as the target rope::compiled.)
//
// read_hf_config needs <nlohmann/json.hpp>. Where that file is not found when this one is compiled, read_hf_config is
// not defined, and a program that calls it does not link.
#pragma once

#if !defined(ROPE_SEPARATE_COMPILATION)
#    error "rope/src.hpp is for programs that define ROPE_SEPARATE_COMPILATION in all translation units"
#elif defined(ROPE_VERSION_MAJOR)
#    error "rope/src.hpp must come before all other headers of rope, which would be declarations only"
#else
#    define ROPE_SOURCE

#    include "engine.hpp"
#    include "ggml.hpp"
#    include "gguf_config.hpp"
#    include "gradients.hpp"
#    if __has_include(<nlohmann/json.hpp>)
#        include "hf_config.hpp"
#    endif

#    include "detail/base/hide_macros.hpp"

#    include "detail/call/rotate_tensors.hpp"

ROPE_SOURCE_BEGIN

#    define ROPE_SOURCE_ROWS(T)                                                                                     \
        template class SourcedRows<T>;                                                                              \
        template class PositionTable<T>;                                                                            \
        template class CompactTable<T>;                                                                             \
        template class TokenRows<T>;                                                                                \
        template class MoveRows<T>;                                                                                 \
        template class DataRows<T>;                                                                                 \
        template class AdditiveTable<T>;                                                                            \
        template Status AdditiveTable<T>::add_rows(const Embedded<T>&, const Positions&, const AnyExecutor&) const; \
        template CosSinView<T> write_rows_of(const CosSinRows<T>&, const Positions&, const AxisPositions*,          \
                                             const AxisMap*, Index, Index, T*, const AnyExecutor&);
ROPE_SOURCE_ROWS(float)
ROPE_SOURCE_ROWS(double)
#    undef ROPE_SOURCE_ROWS
template Status AdditiveTable<float>::add_rows(const Embedded<half>&, const Positions&, const AnyExecutor&) const;
template Status AdditiveTable<float>::add_rows(const Embedded<bfloat16>&, const Positions&, const AnyExecutor&) const;

#    define ROPE_SOURCE_LAYOUTS(layout, T)                                                                          \
        template Status run_paths<Layout::layout, T>(const AnyExecutor&, const CosSinRows<T>&, const Positions&,    \
                                                     const Path* const*, Index);                                    \
        template Status check_paths<Layout::layout, T>(const CosSinRows<T>&, const Positions&, const Path* const*,  \
                                                       Index) noexcept;                                             \
        template Status run_angles<Layout::layout, T>(const AnyExecutor&, const AngleCall&, const CosSinRows<T>&);  \
        template Status check_angles<Layout::layout, T>(const AngleCall&, const CosSinRows<T>&) noexcept;           \
        template Status run_backward<Layout::layout, T>(const AnyExecutor&, const CosSinRows<T>&, const Positions&, \
                                                        const Path&, const BackwardCall&);                          \
        template Status check_backward<Layout::layout, T>(const CosSinRows<T>&, const Positions&, const Path&,      \
                                                          const BackwardCall&) noexcept;
ROPE_SOURCE_LAYOUTS(interleaved, float)
ROPE_SOURCE_LAYOUTS(interleaved, double)
ROPE_SOURCE_LAYOUTS(half_split, float)
ROPE_SOURCE_LAYOUTS(half_split, double)
#    undef ROPE_SOURCE_LAYOUTS
template Status run_frequencies(const AnyExecutor&, const TensorView<const double>&, const Positions&, const AxisMap&,
                                const TensorView<double>&);
template Status run_frequencies(const AnyExecutor&, const TensorView<const double>&, const AxisPositions&,
                                const AxisMap&, const TensorView<double>&);

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

#    include "detail/base/restore_macros.hpp"
#endif
