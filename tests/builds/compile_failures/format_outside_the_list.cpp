// SPDX-License-Identifier: MIT
// expect: This type must stand in the list.
struct Int3 : rope::detail::Format {};
rope::Destination int3(const rope::Destination& codes) { return rope::detail::with_format<Int3>(codes); }
