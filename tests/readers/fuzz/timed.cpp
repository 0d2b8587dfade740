// SPDX-License-Identifier: MIT
// What libFuzzer and replay.cpp call in place of a target, which CMake gives the name fuzz_target: the target, and a
// second of the processor's time. (libFuzzer's own time-out counts the clock's, which a busy machine lets run.)
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

extern "C" int fuzz_target(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static double longest = 0.0;
    const std::clock_t start = std::clock();
    const int result = fuzz_target(data, size);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (seconds > longest && seconds > 0.1) std::fprintf(stderr, "The longest input took %.2f s.\n", longest = seconds);
    if (seconds < 1.0) return result;
    std::fprintf(stderr, "This does not hold: an input of %zu bytes takes less than a second.\n", size);
    std::abort();
}
