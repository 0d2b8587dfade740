// SPDX-License-Identifier: MIT
#include "text.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "random.hpp"

namespace train {

std::uint64_t fnv1a(const void* data, std::size_t size, std::uint64_t start) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < size; ++i) start = (start ^ bytes[i]) * 0x100000001B3u;
    return start;
}

Text::Bytes whole_file(const std::string& path, const std::string& subject) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found) throw std::runtime_error(subject + " does not exist.");
    if (fs::exists(status) && !fs::is_regular_file(status))
        throw std::runtime_error(subject + " is not a regular file.");
    const std::uintmax_t size = fs::file_size(path, error);
    std::ifstream stream(path, std::ios::binary);
    if (error || !stream) throw std::runtime_error(subject + " cannot be read.");
    Text::Bytes bytes(static_cast<std::size_t>(size));
    if (!stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())))
        throw std::runtime_error(subject + " cannot be read.");
    return bytes;
}

Text::Text(const std::string& path, Index longest) : bytes_(whole_file(path, "The file " + path)) {
    const Index validation = size() / 20;
    if (validation < longest + 1)
        throw std::runtime_error("The file " + path + " has " + std::to_string(size()) + " bytes; sequences of " +
                                 std::to_string(longest) + " bytes need at least " +
                                 std::to_string(20 * (longest + 1)) + ".");
    training_ = size() - validation;
    hash_ = fnv1a(bytes_.data(), bytes_.size());
}

void Text::append(Bytes& to, Index first, Index count) const {
    to.insert(to.end(), bytes_.begin() + first, bytes_.begin() + first + count);
}

Text::Bytes Text::training_batch(std::uint64_t seed, Index step, Index count, Index context) const {
    Bytes batch;
    const std::uint64_t places = static_cast<std::uint64_t>(training_ - context);
    for (Index i = 0; i < count; ++i)
        append(batch, static_cast<Index>(mix(mix(seed, 0xDA7A), static_cast<std::uint64_t>(step * count + i)) % places),
               context + 1);
    return batch;
}

Text::Bytes Text::validation_windows(Index count, Index length) const {
    Bytes windows;
    const Index last = size() - training_ - length - 1;  // the first byte of the last window
    for (Index i = 0; i < count; ++i) append(windows, training_ + (count > 1 ? last * i / (count - 1) : 0), length + 1);
    return windows;
}

}  // namespace train
