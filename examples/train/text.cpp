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

Text::Text(const std::string& path, Index longest) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) throw std::runtime_error("The file " + path + " does not exist.");
    if (!std::filesystem::is_regular_file(path, error))
        throw std::runtime_error("The file " + path + " is not a regular file.");
    std::ifstream stream(path, std::ios::binary);
    bytes_.resize(static_cast<std::size_t>(std::filesystem::file_size(path, error)));
    if (!stream.read(reinterpret_cast<char*>(bytes_.data()), static_cast<std::streamsize>(bytes_.size())))
        throw std::runtime_error("The file " + path + " cannot be read.");
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
