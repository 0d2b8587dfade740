// SPDX-License-Identifier: MIT
#include "binary_file.hpp"

#include <cstring>
#include <filesystem>
#include <ios>
#include <stdexcept>
#include <system_error>

namespace llama {
namespace {

static_assert(sizeof(float) == 4, "The files hold 32-bit floats.");

/// Four bytes, least significant first. Compilers turn this into a plain load where the host agrees.
std::uint32_t little_endian(const unsigned char* bytes) {
    return std::uint32_t(bytes[0]) | std::uint32_t(bytes[1]) << 8 | std::uint32_t(bytes[2]) << 16 |
           std::uint32_t(bytes[3]) << 24;
}

}  // namespace

BinaryFile::BinaryFile(const std::string& path) : path_(path) {
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(path, error);
    if (status.type() == std::filesystem::file_type::not_found) refuse("does not exist.");
    // A folder opens like a file and reports an absurd size; a pipe reports none.
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) refuse("is not a regular file.");
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    stream_.open(path, std::ios::binary);
    if (error || !stream_) refuse("cannot be read.");
    left_ = static_cast<std::size_t>(size);
}

void BinaryFile::refuse(const std::string& sentence) const {
    throw std::runtime_error("The file " + path_ + " " + sentence);
}

void BinaryFile::read(void* to, std::size_t size) {
    if (!stream_.read(static_cast<char*>(to), static_cast<std::streamsize>(size))) refuse("cannot be read.");
    left_ -= size;
}

std::int32_t BinaryFile::read_int32(const std::string& what) {
    if (left_ < 4) refuse("ends inside " + what + ".");
    unsigned char bytes[4];
    read(bytes, sizeof bytes);
    const std::uint32_t bits = little_endian(bytes);
    std::int32_t value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

float BinaryFile::read_float(const std::string& what) { return read_floats(1, what).front(); }

std::string BinaryFile::read_text(std::size_t size, const std::string& what) {
    if (left_ < size) refuse("ends inside " + what + ".");
    std::string text(size, '\0');
    read(text.data(), size);
    return text;
}

std::vector<float> BinaryFile::read_floats(std::size_t count, const std::string& what) {
    if (left_ / sizeof(float) < count) refuse("ends inside " + what + ".");
    std::vector<float> values(count);
    read(values.data(), count * sizeof(float));
    for (float& value : values) {
        unsigned char bytes[4];
        std::memcpy(bytes, &value, sizeof bytes);
        const std::uint32_t bits = little_endian(bytes);
        std::memcpy(&value, &bits, sizeof value);
    }
    return values;
}

}  // namespace llama
