// SPDX-License-Identifier: MIT
// Runs a fuzz target on the files that are named, and on all files in folders that are named: the corpus as a test.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

/// In the order of their names, whatever the file system's.
std::vector<fs::path> files_of(const fs::path& place) {
    if (!fs::is_directory(place)) return {place};
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(place))
        if (entry.is_regular_file()) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

int main(int argc, char** argv) {
    std::size_t count = 0;
    for (int i = 1; i < argc; ++i) {
        for (const fs::path& file : files_of(argv[i])) {
            std::ifstream stream(file, std::ios::binary);
            if (!stream) {
                std::fprintf(stderr, "%s cannot be read.\n", file.c_str());
                return 1;
            }
            const std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
            std::printf("%s\n", file.c_str());  // the last one shown is the one that failed
            std::fflush(stdout);
            // A copy of exactly that size, so that a sanitizer sees every byte read beyond the end.
            const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
            LLVMFuzzerTestOneInput(input.data(), input.size());
            ++count;
        }
    }
    std::printf("%zu inputs replayed.\n", count);
    if (count == 0) std::fprintf(stderr, "No input was found; name files or folders with files.\n");
    return count == 0 ? 1 : 0;
}
