// SPDX-License-Identifier: MIT
// Text: the bytes that are trained on, and those that are kept for validation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shape.hpp"

namespace train {

class Text {
 public:
    using Bytes = std::vector<unsigned char>;

    /// The last twentieth of the file is for validation. Throws std::runtime_error with a sentence when the file cannot
    /// be read, or is too short for windows of `longest` bytes.
    Text(const std::string& path, Index longest);

    /// `count` sequences of context + 1 bytes, one after the other, drawn by seed, step and place in the batch.
    Bytes training_batch(std::uint64_t seed, Index step, Index count, Index context) const;

    /// `count` windows of length + 1 bytes, evenly spaced over the validation part, always the same.
    Bytes validation_windows(Index count, Index length) const;

    Index size() const { return static_cast<Index>(bytes_.size()); }
    /// FNV-1a of all bytes.
    std::uint64_t hash() const { return hash_; }

 private:
    void append(Bytes& to, Index first, Index count) const;

    Bytes bytes_;
    Index training_ = 0;  // bytes before the validation part
    std::uint64_t hash_ = 0;
};

/// Sequences of seq + 1 bytes as the network takes them: all but the last byte of each, and all but the first.
struct Sequences {
    Sequences(const unsigned char* bytes, Index count, Index seq) {
        for (Index i = 0; i < count; ++i, bytes += seq + 1) {
            inputs.insert(inputs.end(), bytes, bytes + seq);
            targets.insert(targets.end(), bytes + 1, bytes + seq + 1);
        }
    }
    Text::Bytes inputs, targets;
};

/// All bytes of a regular file. Throws std::runtime_error, "SUBJECT cannot be read." also for a file that opens and
/// then gives fewer bytes than it has.
Text::Bytes whole_file(const std::string& path, const std::string& subject);

/// FNV-1a. To go on after other bytes, `start` is their hash.
std::uint64_t fnv1a(const void* data, std::size_t size, std::uint64_t start = 0xCBF29CE484222325u);

}  // namespace train
