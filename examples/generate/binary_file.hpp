// SPDX-License-Identifier: MIT
// BinaryFile: reads a little-endian file from front to back, on hosts of either byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace llama {

/// Every read names what it reads and is compared with what the file still holds before any memory is taken
/// for it, so a damaged length costs an error message and nothing else. All errors are std::runtime_error.
class BinaryFile {
 public:
    explicit BinaryFile(const std::string& path);

    /// Bytes that have not been read yet.
    std::size_t left() const { return left_; }

    std::int32_t read_int32(const std::string& what);
    float read_float(const std::string& what);
    std::string read_text(std::size_t size, const std::string& what);
    std::vector<float> read_floats(std::size_t count, const std::string& what);

    /// Throws an error that says: "The file PATH <sentence>".
    [[noreturn]] void refuse(const std::string& sentence) const;

 private:
    void read(void* to, std::size_t size);

    std::string path_;
    std::ifstream stream_;
    std::size_t left_ = 0;
};

}  // namespace llama
