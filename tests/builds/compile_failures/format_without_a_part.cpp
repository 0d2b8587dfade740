// SPDX-License-Identifier: MIT
// expect: read
struct Int3 : rope::detail::Format {
    static constexpr const char* kName = "int3";
    static constexpr rope::Index kFeatures = 8, kBytes = 3;
    static constexpr rope::detail::ElementType kCode = rope::detail::ElementType::u8;
    static constexpr rope::detail::ElementType kScale = rope::detail::kNoElements, kZero = rope::detail::kNoElements;
    static void write(const float*, rope::Index, const rope::detail::FormatRow&) noexcept {}
};
auto all = rope::detail::FormatList<rope::detail::Elements, Int3>::kRead[1];
