// SPDX-License-Identifier: MIT
// expect: This type must stand in the list.
struct Int3 : rope::detail::Format {
    static constexpr const char* kName = "int3";
    static constexpr rope::Index kFeatures = 8, kBytes = 3;
    static constexpr rope::detail::ElementType kCode = rope::detail::ElementType::u8;
};
rope::Destination int3(const rope::Destination& codes) { return rope::detail::with_format<Int3>(codes); }
