// SPDX-License-Identifier: MIT
// Bytes as numbers, and the memory of a fuzzed call: blocks that end where a view ends, or one block for all views.
#pragma once

#include <rope/heads.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

namespace fuzz {

using rope::Index;

inline constexpr Index kMost = std::numeric_limits<Index>::max();

/// The bytes of an input, one after the other; zeros behind its end.
class Bytes {
 public:
    Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

    std::uint8_t next() { return place_ < size_ ? data_[place_++] : std::uint8_t(0); }
    Index below(Index n) { return next() % n; }
    bool one_in(Index n) { return below(n) == n - 1; }
    template <class T, std::size_t n>
    T of(const T (&list)[n]) {
        return list[next() % n];
    }
    /// A number that no extent and no stride should be.
    Index hostile() {
        const Index power = Index(1) << below(63);
        const Index list[] = {0, -1, -3, kMost, -kMost - 1, kMost - 1, kMost / 2, power, power - 1, power + 1, -power};
        return of(list);
    }
    /// A number for a step: a limit, a factor, eps.
    double number() {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        const double list[] = {1e-6,  0.5,   1.25,     3.0,       0.0,
                               -0.0,  -1.0,  1e-300,   1e38,      1e39,
                               1e300, 1e-45, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()};
        return of(list);
    }

 private:
    const std::uint8_t* data_;
    std::size_t size_, place_ = 0;
};

/// The bytes of a view before and behind its first element; false if it is larger than any block.
inline bool find_span(const rope::detail::AnyView& v, Index& before, Index& behind) {
    before = 0;
    behind = rope::detail::is_empty(v) ? 0 : v.element_size;
    for (int axis = 0; axis < 4 && behind > 0; ++axis) {
        const Index extent = v.extents[axis], stride = v.strides[axis];
        if (extent == 1) continue;
        if (extent < 0 || extent > 4096 || stride > 65536 || stride < -65536) return false;
        const Index reach = stride * (extent - 1) * v.element_size;
        (reach < 0 ? before : behind) += reach < 0 ? -reach : reach;
    }
    return before + behind <= Index(1) << 20;
}

/// All memory of a call. What may be written is marked byte by byte.
class Memory {
 public:
    explicit Memory(Bytes& bytes) : bytes_(bytes) {
        is_shared_ = bytes.one_in(3);
        kind_ = bytes.below(4);
        if (is_shared_) add_block(kSharedBytes);
    }

    /// Memory for a view whose pointer is null as yet; null where no block holds it, and is_usable is false then.
    void* place(const rope::detail::AnyView& v) {
        Index before = 0, behind = 0;
        if (!find_span(v, before, behind)) {
            is_usable = false;
            return &nowhere_;
        }
        const Index size = before + behind, unit = v.element_size;
        if (!is_shared_) return add_block(size) + before;
        const Index last = (kSharedBytes - size) / unit;
        if (last < 0) {
            is_usable = false;
            return &nowhere_;
        }
        const Index steps[] = {0, 1, 8, 32, 64, 256, 1024, 4096};
        const Index first = (bytes_.next() * bytes_.of(steps)) % (last + 1);
        return blocks_[0].now.get() + first * unit + before;
    }

    void mark(const void* p, Index size) {
        for (Block& block : blocks_) {
            const auto at = reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(block.now.get());
            for (Index i = 0; i < size && at < block.before.size(); ++i)
                block.may_change.at(at + std::size_t(i)) = true;
        }
    }
    /// Whether only marked bytes have changed.
    bool is_right() const {
        for (const Block& block : blocks_)
            for (std::size_t i = 0; i < block.before.size(); ++i)
                if (!block.may_change[i] && block.now[i] != block.before[i]) return false;
        return true;
    }
    bool is_unchanged() const {
        for (const Block& block : blocks_)
            if (!block.before.empty() && std::memcmp(block.now.get(), block.before.data(), block.before.size()) != 0)
                return false;
        return true;
    }
    /// The bytes as they are; and back to the bytes before any call.
    std::vector<std::vector<unsigned char>> copy() const {
        std::vector<std::vector<unsigned char>> all;
        for (const Block& block : blocks_) all.emplace_back(block.now.get(), block.now.get() + block.before.size());
        return all;
    }
    void restore() {
        for (Block& block : blocks_)
            if (!block.before.empty()) std::memcpy(block.now.get(), block.before.data(), block.before.size());
    }
    /// The same place in a copy.
    const unsigned char* in(const std::vector<std::vector<unsigned char>>& all, const void* p) const {
        for (std::size_t k = 0; k < blocks_.size(); ++k) {
            const auto at =
                reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(blocks_[k].now.get());
            if (at < blocks_[k].before.size()) return all[k].data() + at;
        }
        return nullptr;
    }

    bool is_usable = true;

 private:
    static constexpr Index kSharedBytes = 1 << 15;
    struct Block {
        std::unique_ptr<unsigned char[]> now;
        std::vector<unsigned char> before;
        std::vector<bool> may_change;
    };

    unsigned char* add_block(Index size) {
        const auto count = static_cast<std::size_t>(size);
        Block block = {std::unique_ptr<unsigned char[]>(new unsigned char[count]), {}, std::vector<bool>(count)};
        for (std::size_t i = 0; i < count; ++i) {
            state_ = state_ * 6364136223846793005u + 1442695040888963407u;
            const auto byte = static_cast<unsigned char>(state_ >> 56);
            // As floats and doubles mostly ordinary numbers, or anything, or zeros and ones.
            block.now[i] = kind_ < 2    ? static_cast<unsigned char>(i % 4 == 3 ? 0x3e | (byte & 0x81) : byte)
                           : kind_ == 2 ? byte
                                        : static_cast<unsigned char>(i % 4 == 3 && byte < 128 ? 0x3f : byte & 0x80);
        }
        block.before.assign(block.now.get(), block.now.get() + count);
        blocks_.push_back(std::move(block));
        return blocks_.back().now.get();
    }

    Bytes& bytes_;
    bool is_shared_;
    Index kind_;
    std::uint64_t state_ = 1;
    double nowhere_ = 0.0;
    std::vector<Block> blocks_;
};

}  // namespace fuzz
