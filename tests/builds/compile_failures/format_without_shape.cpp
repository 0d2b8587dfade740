// SPDX-License-Identifier: MIT
// expect: kBytes
struct Int3 : rope::detail::Format {
    static constexpr const char* kName = "int3";
    static constexpr rope::Index kFeatures = 8;
    static constexpr rope::detail::ElementType kCode = rope::detail::ElementType::u8;
};
auto bytes = rope::detail::kFormat<Int3>.bytes;
