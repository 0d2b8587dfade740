// SPDX-License-Identifier: MIT
// How libFuzzer changes a config.json: mostly as JSON, so that what comes out is read further than its first byte; at
// times as bytes. Linked beside hf_config.cpp; the corpus is where keys come from.
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed);
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t size_a, const std::uint8_t* b,
                                                 std::size_t size_b, std::uint8_t* out, std::size_t max_size,
                                                 unsigned seed);

namespace {

using Json = nlohmann::json;
using Random = std::minstd_rand;

std::size_t below(std::size_t n, Random& random) { return random() % n; }

/// Every value within, itself included.
void collect(Json& value, std::vector<Json*>& all) {
    all.push_back(&value);
    if (value.is_structured())
        for (Json& inner : value) collect(inner, all);
}
Json& any(Json& value, Random& random) {
    std::vector<Json*> all;
    collect(value, all);
    return *all[below(all.size(), random)];
}

Json any_value(Random& random) {
    static const Json values = Json::parse(R"([null, true, false, 0, 1, 2, 3, 4, 7, 8, 16, 64, 128, 4096, 1048576, -1,
        32768, 65536, 1048574, 1e-12,
        0.5, 0.25, 1.0, 2.5, 10000.0, 1e6, 1e300, 1e-300, -1e300, 4294967296, 1099511627776, 18446744073709551615, "",
        "x", [], {}, [1, 1], [2, 1, 1], [1, 1.5, 2, 2.5], [0, 1], ["full_attention", "sliding_attention"],
        ["linear_attention", "full_attention"], ["chunked_attention", "full_attention"], "default", "linear", "dynamic",
        "ntk", "yarn", "deepseek_yarn", "longrope", "su", "llama3", "proportional", "axial", "mrope", "xdrope"])");
    return values[below(values.size(), random)];
}

/// Many layers, each with a base of its own.
void give_layers_bases(Json& model, Random& random) {
    const std::size_t layers = 1 + below(400, random), first = 1 + below(20000, random);
    Json bases = Json::array();
    for (std::size_t i = 0; i < layers; ++i) bases.push_back(first + i);
    model["num_hidden_layers"] = layers;
    model["layer_rope_theta"] = std::move(bases);
}

std::size_t written(const Json& value, std::uint8_t* out, std::size_t max_size) {
    const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > max_size) return 0;
    std::memcpy(out, text.data(), text.size());
    return text.size();
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    Random random(seed);
    Json whole = Json::parse(data, data + size, nullptr, false);
    if (whole.is_discarded() || below(8, random) == 0) return LLVMFuzzerMutate(data, size, max_size);
    for (std::size_t changes = 1 + below(3, random); changes > 0; --changes) {
        Json& place = any(whole, random);
        if (place.is_object() && below(16, random) == 0) {
            give_layers_bases(place, random);
        } else if (place.is_object() && !place.empty() && below(2, random) == 0) {
            auto member = place.begin();
            std::advance(member, static_cast<std::ptrdiff_t>(below(place.size(), random)));
            place.erase(member);
        } else if (place.is_object() && below(4, random) == 0) {  // one level deeper
            static const char* const names[] = {"text_config", "thinker_config", "rope_parameters", "full_attention"};
            Json inner = std::move(place);
            place = {{names[below(4, random)], std::move(inner)}};
        } else if (place.is_array() && !place.empty() && below(2, random) == 0) {
            place.erase(below(place.size(), random));
        } else if (place.is_array() && below(2, random) == 0) {
            place.push_back(any_value(random));
        } else {
            place = any_value(random);
        }
    }
    const std::size_t bytes = written(whole, data, max_size);
    return bytes != 0 ? bytes : LLVMFuzzerMutate(data, size, max_size);
}

/// Some members of one file in another.
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t size_a, const std::uint8_t* b,
                                                 std::size_t size_b, std::uint8_t* out, std::size_t max_size,
                                                 unsigned seed) {
    Random random(seed);
    Json first = Json::parse(a, a + size_a, nullptr, false), second = Json::parse(b, b + size_b, nullptr, false);
    if (first.is_discarded() || second.is_discarded()) return 0;
    Json& from = any(second, random);
    Json& to = any(first, random);
    if (!from.is_object() || !to.is_object()) return 0;
    for (const auto& member : from.items())
        if (below(3, random) == 0) to[member.key()] = member.value();
    return written(first, out, max_size);
}
