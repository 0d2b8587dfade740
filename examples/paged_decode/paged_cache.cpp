// SPDX-License-Identifier: MIT
#include "paged_cache.hpp"

#include <cstddef>

PagedCache::PagedCache(const rope::Config& config, const rope::CosSinCache<float>& cos_sin, Index pages)
    : cos_sin_(cos_sin),
      moves_(config),
      pages_(pages),
      key_codes_(pages * kPageSize, kKvHeads * kHeadDim),
      key_scales_(pages * kPageSize, kKvHeads),
      values_(pages * kPageSize, kKvHeads * kHeadDim) {}

void PagedCache::write(Tokens& tokens, const rope::Positions& positions, const Slots& slots) {
    const auto all = rope::view(tokens, kHeads + 2 * kKvHeads);
    const auto q = all.slice_heads(0, kHeads);
    const auto k = all.slice_heads(kHeads, kKvHeads);
    const auto v = all.slice_heads(kHeads + kKvHeads, kKvHeads);

    constexpr double scale = 0.125;  // 1 / sqrt(kHeadDim)
    rope::pass<kLayout>(cos_sin_, positions, rope::heads(q).rotate().multiply(scale),
                        rope::heads(k).rotate().to(keys(slots)), rope::heads(v).to(values(slots)));
}

rope::Destination PagedCache::keys(const Slots& slots) {
    return rope::int8(rope::paged(key_codes_.data(), pages_, kPageSize, kKvHeads, kHeadDim, slots),
                      rope::paged(key_scales_.data(), pages_, kPageSize, kKvHeads, 1, slots));
}
rope::Destination PagedCache::values(const Slots& slots) {
    return rope::paged(values_.data(), pages_, kPageSize, kKvHeads, kHeadDim, slots);
}

void PagedCache::copy(const Slots& from, const Slots& to, Index distance) {
    moves_.build(distance);
    rope::pass<kLayout>(moves_, rope::heads(keys(from)).rotate().to(keys(to)),
                        rope::heads(values(from)).to(values(to)));
}

Row PagedCache::attend(const Row& query, const Slots& slots) const {
    const Index seen = static_cast<Index>(slots.size());
    Row out = Row::Zero(kWidth);
    for (Index h = 0; h < kHeads; ++h) {
        const Index kv_head = h / (kHeads / kKvHeads);
        const auto features = [kv_head](const auto& pages, Index slot) {
            return pages.row(slot).template segment<kHeadDim>(kv_head * kHeadDim).template cast<float>();
        };
        const auto q = query.segment<kHeadDim>(h * kHeadDim);

        // A key is its codes times its scale, so the scale can wait until the sum is made.
        Row weights(seen);
        for (Index t = 0; t < seen; ++t) {
            const Index slot = slots[static_cast<std::size_t>(t)];
            weights[t] = key_scales_(slot, kv_head) * q.dot(features(key_codes_, slot));
        }
        weights = (weights.array() - weights.maxCoeff()).exp();
        weights /= weights.sum();
        for (Index t = 0; t < seen; ++t)
            out.segment<kHeadDim>(h * kHeadDim) += weights[t] * features(values_, slots[static_cast<std::size_t>(t)]);
    }
    return out;
}
