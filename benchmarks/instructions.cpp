// SPDX-License-Identifier: MIT
// Work whose instructions are counted by instructions.cmake: a name of it, how many times, the path of a config.json.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <rope/core.hpp>
#include <rope/heads.hpp>
#include <rope/hf_config.hpp>
#include <rope/reposition.hpp>

namespace {

using rope::Index;
constexpr rope::Layout kLayout = rope::Layout::half_split;
constexpr Index kPages = 4, kPageSize = 16, kHeads = 8, kHeadDim = 128;

/// The prologue of an attention with norms: q in place, k and v to pages.
template <class Destination>
void pass_prologue(const rope::CosSinCache<float>& cache, Index seq, std::vector<float>& numbers,
                   const Destination& keys, const Destination& values) {
    static const std::vector<float> weight(kHeadDim, 1.0f);
    float* const q = numbers.data();
    float* const k = q + seq * 32 * kHeadDim;
    float* const v = k + seq * kHeads * kHeadDim;
    rope::pass<kLayout>(cache, rope::start_at(7),
                        rope::heads(rope::view(q, seq, 32, kHeadDim)).rms_norm(weight, 1e-6).rotate(),
                        rope::heads(rope::view(k, seq, kHeads, kHeadDim)).rms_norm(weight, 1e-6).rotate().to(keys),
                        rope::heads(rope::view(v, seq, kHeads, kHeadDim)).to(values));
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 4) return 1;
    const std::string work = arguments[1];
    std::ifstream file(arguments[3]);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());

    const rope::CosSinCache<float> cache(rope::Config{kHeadDim}, 64);
    const Index seq = work.find("16_tokens") != std::string::npos ? 16 : 1;
    std::vector<float> q(16 * 32 * 128, 1.0f), k(16 * 8 * 128, 1.0f);
    const auto q_view = rope::view(q.data(), seq, 32, 128), k_view = rope::view(k.data(), seq, 8, 128);
    const std::vector<int> ids = {7};

    // A cache of pages in each format, and heads to write there.
    std::vector<float> numbers(16 * 48 * kHeadDim);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = (i % 2 == 0 ? 1.0f : -1.0f) * static_cast<float>(1 + i * 7 % 256);
    constexpr std::size_t cached = kPages * kPageSize * kHeads * kHeadDim;
    std::vector<rope::bfloat16> key_pages(cached), value_pages(cached);
    std::vector<unsigned char> bytes(2 * cached);
    std::vector<float> scale_pages(cached / kHeadDim), zero_pages(cached / kHeadDim);
    std::vector<float> group_scales(cached / 32), group_zeros(cached / 32), channel_scales(kHeadDim, 2.5f);
    std::vector<rope::half> half_scales(cached / 64);
    std::vector<unsigned char> byte_scales(cached / 16), zero_codes(cached / kHeadDim);
    std::vector<int> slot_list(static_cast<std::size_t>(seq));
    for (std::size_t i = 0; i < slot_list.size(); ++i) slot_list[i] = static_cast<int>(i + 5);
    const auto paged = [&](auto* data, Index width) {
        return rope::paged(data, kPages, kPageSize, kHeads, width, slot_list);
    };
    const auto scale_of = paged(scale_pages.data(), 1), zero_of = paged(zero_pages.data(), 1);
    const auto codes = paged(bytes.data(), kHeadDim);
    const auto signed_codes = paged(reinterpret_cast<signed char*>(bytes.data()), kHeadDim);
    const std::map<std::string, rope::Destination> formats = {
        {"bfloat16", paged(key_pages.data(), kHeadDim)},
        {"int8", rope::int8(signed_codes, scale_of)},
        {"uint8", rope::uint8(codes, scale_of, zero_of)},
        {"uint4", rope::uint4(paged(bytes.data(), kHeadDim / 2), scale_of, zero_of)},
        {"fp8", rope::fp8_e4m3(codes, scale_of)},
        {"q80", rope::q8_0(paged(bytes.data(), kHeadDim / 32 * 34))},
        {"int4", rope::int4(paged(bytes.data(), kHeadDim / 2), scale_of)},
        {"int8groups", rope::int8(signed_codes, paged(group_scales.data(), kHeadDim / 32))},
        {"int8halves", rope::int8(signed_codes, paged(half_scales.data(), kHeadDim / 64))},
        {"int8given", rope::int8(signed_codes, 2.5f)},
        {"int8channels", rope::int8(signed_codes, rope::given(channel_scales))},
        {"uint8groups",
         rope::uint8(codes, paged(group_scales.data(), kHeadDim / 32), paged(group_zeros.data(), kHeadDim / 32))},
        {"uint8codes", rope::uint8(codes, scale_of, paged(zero_codes.data(), 1))},
        {"fp8groups", rope::fp8_e4m3(codes, paged(group_scales.data(), kHeadDim / 32))},
        {"mxfp4", rope::mxfp4(paged(bytes.data(), kHeadDim / 2), paged(byte_scales.data(), kHeadDim / 32))},
        {"nvfp4", rope::nvfp4(paged(bytes.data(), kHeadDim / 2), paged(byte_scales.data(), kHeadDim / 16), 0.1f)},
        {"q40", rope::q4_0(paged(bytes.data(), kHeadDim / 32 * 18))},
        {"q41", rope::q4_1(paged(bytes.data(), kHeadDim / 32 * 20))},
        {"q50", rope::q5_0(paged(bytes.data(), kHeadDim / 32 * 22))},
        {"q51", rope::q5_1(paged(bytes.data(), kHeadDim / 32 * 24))},
        {"iq4nl", rope::iq4_nl(paged(bytes.data(), kHeadDim / 32 * 18))},
        {"ggmlmxfp4", rope::mxfp4(paged(bytes.data(), kHeadDim / 32 * 17))},
    };
    const std::string format = work.substr(work.rfind('_') + 1);
    const auto keys = formats.find(format);
    std::vector<signed char> other_codes(bytes.size());
    std::vector<float> other_scales(scale_pages.size());
    const rope::Destination other = rope::int8(paged(other_codes.data(), kHeadDim), paged(other_scales.data(), 1));
    rope::Moves<float> moves(rope::Config{kHeadDim});
    moves.build(-3);
    const rope::Destination values = paged(value_pages.data(), kHeadDim);
    const auto heads = rope::view(numbers.data(), 1, kHeads, kHeadDim);
    const bool begins_in_cache =
        keys != formats.end() && work.compare(0, 6, "write_") != 0 && work.compare(0, 5, "pass_") != 0;
    if (begins_in_cache) rope::pass<kLayout>(cache, rope::start_at(7), rope::heads(heads).to(keys->second));

    const auto run = [&]() -> std::function<void()> {
        if (work == "read") return [&] { k[0] = static_cast<float>(rope::read_hf_config(text).layers()); };
        if (work == "one_id") return [&] { rope::apply<kLayout>(q_view, k_view, cache, ids); };
        if (work == "one_tensor") return [&] { rope::apply<kLayout>(q_view, cache, rope::start_at(7)); };
        if (work == "pass_rotating")
            return [&] {
                rope::pass<kLayout>(cache, rope::start_at(7), rope::heads(q_view).rotate(),
                                    rope::heads(k_view).rotate());
            };
        if (work == "inverse") return [&] { rope::apply_inverse<kLayout>(q_view, k_view, cache, rope::start_at(7)); };
        if (keys == formats.end()) return [&] { rope::apply<kLayout>(q_view, k_view, cache, rope::start_at(7)); };
        const rope::Destination& to = keys->second;
        if (work.compare(0, 5, "pass_") == 0) return [&] { pass_prologue(cache, seq, numbers, to, values); };
        if (work.compare(0, 5, "read_") == 0)
            return [&] { rope::dequantise(to, rope::view(k.data(), 1, kHeads, kHeadDim)); };
        if (work.compare(0, 5, "move_") == 0) return [&] { rope::reposition<kLayout>(to, moves); };
        if (work.compare(0, 7, "change_") == 0) return [&] { rope::pass(rope::heads(to).to(other)); };
        return [&] { rope::pass<kLayout>(cache, rope::start_at(7), rope::heads(heads).to(to)); };
    }();
    for (int i = std::atoi(arguments[2]); i > 0; --i) run();
    std::printf("%g\n", static_cast<double>(q[0]) + static_cast<double>(k[0]));
}
