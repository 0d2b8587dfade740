// SPDX-License-Identifier: MIT
// The code on the pages about other engines, see snippets.hpp, with small structs in place of the engines' own.
#include <rope/core.hpp>
#include <rope/wrapped_rows.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "examples/snippets.hpp"

namespace {

// Tensors of this size have more than 1 MiB in float, so calls ask the engine's pool.
constexpr Index kBatch = 2, kSeq = 40, kTokens = kBatch * kSeq, kHeads = 64, kDim = 64, kRows = 128;
int pool_calls = 0;

using Turn = std::complex<long double>;
Turn turn(Index position, Index pair, Index dim, long double base) {
    const long double exponent = static_cast<long double>(-2 * pair) / static_cast<long double>(dim);
    return std::polar(1.0L, static_cast<long double>(position) * std::pow(base, exponent));
}
/// x of [tokens, heads, dim], rotated in long double: pair i of token t by turn_of(t, i). Features after the pairs stay.
template <class T, class TurnOf>
std::vector<double> formula(const std::vector<T>& x, bool interleaved, Index heads, Index dim, Index pairs,
                            const TurnOf& turn_of) {
    std::vector<double> y(x.size());
    std::transform(x.begin(), x.end(), y.begin(), [](T number) { return support::to_double(number); });
    for (Index t = 0; t < Index(x.size()) / (heads * dim); ++t)
        for (Index i = 0; i < pairs; ++i) {
            const Turn by = turn_of(t, i);
            for (Index h = 0; h < heads; ++h) {
                double& a = y[size((t * heads + h) * dim + (interleaved ? 2 * i : i))];
                double& b = *(&a + (interleaved ? 1 : pairs));
                const Turn z = by * Turn(a, b);
                a = double(z.real()), b = double(z.imag());
            }
        }
    return y;
}
std::vector<std::int64_t> some_positions() {
    std::vector<std::int64_t> ids(size(kTokens));
    for (Index t = 0; t < kTokens; ++t) ids[size(t)] = t * 37 % kRows;
    return ids;
}

namespace at {
enum ScalarType { kFloat, kDouble, kHalf, kBFloat16, kInt, kLong };
struct Tensor {
    std::shared_ptr<std::vector<unsigned char>> memory;
    ScalarType type = kFloat;
    std::vector<std::int64_t> sizes, strides;
    bool cpu = true, contiguous = true;
    std::int64_t dim() const { return Index(sizes.size()); }
    std::int64_t size(std::size_t axis) const { return sizes.at(axis); }
    std::int64_t stride(std::size_t axis) const { return strides.at(axis); }
    std::int64_t numel() const { return std::accumulate(sizes.begin(), sizes.end(), Index(1), std::multiplies<>()); }
    bool is_cpu() const { return cpu; }
    bool is_contiguous() const { return contiguous; }
    ScalarType scalar_type() const { return type; }
    void* data_ptr() const { return memory->data(); }
    template <class T>
    T* data_ptr() const {
        REQUIRE(type == (std::is_same_v<T, float> ? kFloat : std::is_same_v<T, double> ? kDouble : kLong));
        return static_cast<T*>(data_ptr());
    }
};
Tensor empty(const std::vector<std::int64_t>& sizes, ScalarType type) {
    Tensor t = {nullptr, type, sizes, sizes};
    std::int64_t stride = 1;
    for (std::size_t axis = sizes.size(); axis-- > 0; stride *= sizes[axis]) t.strides[axis] = stride;
    const int bytes = type == kHalf || type == kBFloat16 ? 2 : type == kDouble || type == kLong ? 8 : 4;
    t.memory = std::make_shared<std::vector<unsigned char>>(support::size(stride * bytes));
    return t;
}
Tensor empty_like(const Tensor& x) {
    Tensor y = empty(x.sizes, x.type);
    y.strides = x.strides;
    return y;
}
void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t, const std::function<void(Index, Index)>& f) {
    ++pool_calls;
    f(end / 2, end);
    f(begin, end / 2);
}
}  // namespace at
namespace torch::autograd {
using variable_list = std::vector<at::Tensor>;
struct AutogradContext {
    variable_list saved;
    void save_for_backward(variable_list tensors) { saved = std::move(tensors); }
    variable_list get_saved_variables() const { return saved; }
};
template <class T>
struct Function {};
}  // namespace torch::autograd
void TORCH_CHECK(bool condition, const char* text) {
    if (!condition) throw std::runtime_error(text);
}
#include "pytorch_1.inc"

namespace ncnn {
struct Option {
    int num_threads = 2;
    const char* blob_allocator = nullptr;  // one that is given has no memory
};
struct ParamDict {
    int number_0;
    int get(int id, int otherwise) const { return id == 0 ? number_0 : otherwise; }
};
struct Mat {
    int w = 0, h = 0, c = 0;
    std::size_t cstep = 0;
    void* data = nullptr;
    std::shared_ptr<std::vector<float>> memory = nullptr;
    /// Channels end with a gap. All numbers are 99.
    void create(int width, int height, int channels, int gap) {
        w = width, h = height, c = channels, cstep = size(w * h + gap);
        memory = std::make_shared<std::vector<float>>(cstep * size(c), 99.0f);
        data = memory->data();
    }
    void create_like(const Mat& m, const char* allocator) {
        if (allocator == nullptr) create(m.w, m.h, m.c, 8);
    }
    bool empty() const { return data == nullptr; }
    float* row(int y) { return static_cast<float*>(data) + y * w; }
    operator const float*() const { return static_cast<const float*>(data); }
};
struct Layer {
    virtual ~Layer() = default;
    virtual int load_param(const ParamDict&) = 0;
    virtual int forward(const std::vector<Mat>&, std::vector<Mat>&, const Option&) const = 0;
};
}  // namespace ncnn
#include "ncnn_1.inc"

// ONNX Runtime's names.
struct Status {
    std::string message;
    static Status OK() { return {}; }
};
#define ORT_MAKE_STATUS(category, code, text) Status({text})
struct ThreadPool {
    using F = std::function<void(Index, Index)>;
    static void TryParallelFor(ThreadPool*, Index count, double, const F& f) { at::parallel_for(0, count, 1, f); }
};
struct RotaryParameters {
    int rotary_embedding_dim, max_sequence_length;
    int batch_size = kBatch, sequence_length = kSeq, num_heads = kHeads, head_size = kDim;
    int batch_stride = kSeq * kHeads * kDim, seq_stride = kHeads * kDim, head_stride = kDim;
};
Status run_operator(ThreadPool* tp, const RotaryParameters& parameters, const float* input, const float* cos_cache,
                    const float* sin_cache, const std::int64_t* position_ids, float* output, bool interleaved) {
#include "onnx_runtime_1.inc"
}

#include "llama2_c_1.inc"

}  // namespace

TEST_CASE("ONNX Runtime's operator") {
    const std::vector<float> x = normal<float>(kTokens * kHeads * kDim, 1);
    const std::vector<float> c = normal<float>(kRows * kDim / 2, 2), s = normal<float>(kRows * kDim / 2, 3);
    std::vector<std::int64_t> ids = some_positions();
    std::vector<float> y;
    pool_calls = 0;
    const auto run = [&](int rotary, bool has_ids, bool interleaved) {
        y.assign(x.size(), 99.0f);
        return run_operator(nullptr, {rotary, int(has_ids ? kRows : kSeq)}, x.data(), c.data(), s.data(),
                            has_ids ? ids.data() : nullptr, y.data(), interleaved);
    };
    for (const int rotary : {64, 24})
        for (const bool interleaved : {false, true})
            for (const bool has_ids : {false, true}) {  // without, each token of each batch entry has a row
                CHECK(run(rotary, has_ids, interleaved).message.empty());
                const auto turn_of = [&](Index t, Index pair) {
                    const std::size_t i = size((has_ids ? ids[size(t)] : t) * rotary / 2 + pair);
                    return Turn(c[i], s[i]);
                };
                CHECK(distance(y, formula(x, interleaved, kHeads, kDim, rotary / 2, turn_of)) < 3e-7);
            }
    CHECK(pool_calls == 8);
    ids[77] = kRows;
    CHECK(run(64, true, false).message.find("128") != std::string::npos);
    CHECK(same_bits(y, std::vector<float>(y.size(), 99.0f)));
}

TEST_CASE("ncnn's layer, with rows of a table") {
    constexpr int tokens = 72, heads = 64, dim = 64, first = 900, channel = tokens * dim;
    const rope::CosSinCache<float> table(rope::Config{dim}, 1000);
    const std::vector<float> numbers = normal<float>(heads * channel, 1);
    ncnn::Mat x, cos, sin, low;
    x.create(dim, tokens, heads, 4);
    for (std::size_t h = 0; h < heads; ++h)
        std::copy_n(numbers.data() + h * channel, channel, x.memory->data() + h * x.cstep);
    RopeRotaryEmbed layer;
    std::vector<ncnn::Mat> out(1);
    for (const bool interleaved : {false, true})
        for (const int width : {dim / 2, dim}) {  // The second half of a wide row holds 99, which nobody reads.
            cos.create(width, tokens, 1, 0);
            sin.create(width, tokens, 1, 0);
#include "ncnn_2.inc"
            CHECK(layer.load_param({interleaved ? 1 : 0}) == 0);
            REQUIRE(layer.forward({x, cos, sin}, out, {}) == 0);
            std::vector<float> got;
            for (std::size_t h = 0; h < heads; ++h) {
                const float* const of_y = out[0].memory->data() + h * out[0].cstep;
                got.insert(got.end(), of_y, of_y + channel);
            }
            CHECK(std::count(out[0].memory->begin(), out[0].memory->end(), 99.0f) == heads * 8);  // the gaps
            const auto turn_of = [&](Index row, Index pair) { return turn(first + row % tokens, pair, dim, 10000); };
            CHECK(distance(got, formula(numbers, interleaved, 1, dim, dim / 2, turn_of)) < 3e-7);
        }
    low.create(dim, tokens - 1, 1, 0);
    CHECK(layer.forward({x, low, low}, out, {}) == -1);
    CHECK(layer.forward({x, cos, low}, out, {}) == -1);
    out.assign(1, {});
    CHECK(layer.forward({x, cos, sin}, out, {1, "full"}) == -100);
}

TEST_CASE("llama2.c's rotation, and its float angles") {
    constexpr int heads = 6, kv_heads = 2, head_size = 48, seq_len = 2048;
    for (const int pos : {0, 1, 2047}) {
        const std::vector<float> q = normal<float>(heads * head_size, 1), k = normal<float>(kv_heads * head_size, 2);
        std::vector<float> q_out = q, k_out = k;
        rope_rotate(q_out.data(), k_out.data(), heads, kv_heads, head_size, pos, seq_len);
        const auto turn_of = [&](Index, Index pair) { return turn(pos, pair, head_size, 10000); };
        CHECK(distance(q_out, formula(q, true, heads, head_size, head_size / 2, turn_of)) < 3e-7);
        CHECK(distance(k_out, formula(k, true, kv_heads, head_size, head_size / 2, turn_of)) < 3e-7);
    }
#include "llama2_c_2.inc"
    std::vector<float> got, want;  // by the steps of run.c, each rounded to float: at 2047 1e-4 from the formula
    for (int pos = 0; pos < seq_len; ++pos)
        for (int pair = 0; pair < head_size / 2; ++pair) {
            const float exponent = float(2 * pair) / float(head_size), power = float(std::pow(1e4, double(exponent)));
            const float frequency = 1.0f / power, angle = float(pos) * frequency;
            got.insert(got.end(), {table.cos_row(pos)[pair], table.sin_row(pos)[pair]});
            want.insert(want.end(), {float(std::cos(double(angle))), float(std::sin(double(angle)))});
        }
    CHECK(distance(got, want) < 1e-7);
}

TEST_CASE("PyTorch's operator, and its gradient") {
    const auto tensor_of = [](const auto& numbers, at::ScalarType type, const std::vector<std::int64_t>& sizes) {
        const at::Tensor t = at::empty(sizes, type);
        std::memcpy(t.data_ptr(), numbers.data(), t.memory->size());
        return t;
    };
    std::vector<std::int64_t> places = some_positions();
    const at::Tensor table = table_of(kDim, 5e5, kRows), narrow = table_of(24, 5e5, kRows);
    const std::vector<double> numbers(narrow.data_ptr<float>(), narrow.data_ptr<float>() + kRows * 24);
    const at::Tensor ids = tensor_of(places, at::kLong, {kBatch, kSeq}), shared = tensor_of(places, at::kLong, {kSeq});
    const auto compare = [&](auto zero, at::ScalarType type, const at::Tensor& rows, double tolerance) {
        const auto numbers = normal<decltype(zero)>(kTokens * kHeads * kDim, 1);
        at::Tensor x = tensor_of(numbers, type, {kBatch, kSeq, kHeads, kDim});
        std::swap(x.sizes[1], x.sizes[2]);  // seen as [batch, heads, seq, head_dim]
        std::swap(x.strides[1], x.strides[2]);
        for (const at::Tensor& at : {ids, shared}) {
            torch::autograd::AutogradContext context;
            const at::Tensor y = Rotate::forward(&context, x, rows, at), dx = Rotate::backward(&context, {x}).at(0);
            for (const bool is_gradient : {false, true}) {
                const auto turn_of = [&](Index t, Index pair) {
                    const Turn by = turn(places[size(t % at.numel())], pair, rows.size(1), 5e5L);
                    return is_gradient ? std::conj(by) : by;
                };
                auto got = numbers;
                std::memcpy(static_cast<void*>(got.data()), (is_gradient ? dx : y).data_ptr(), x.memory->size());
                CHECK(distance(got, formula(numbers, false, kHeads, kDim, rows.size(1) / 2, turn_of)) < tolerance);
            }
        }
        return x;
    };
    compare(rope::half{}, at::kHalf, table, 5e-4);
    compare(rope::bfloat16{}, at::kBFloat16, table, 4e-3);
    compare(0.0, at::kDouble, tensor_of(numbers, at::kDouble, narrow.sizes), 1e-7);
    pool_calls = 0;
    at::Tensor x = compare(0.0f, at::kFloat, table, 3e-7), other = ids;
    CHECK(pool_calls == 4);
    const auto refused = [&](const at::Tensor& at) { return rotated(x, table, at, false); };
    other.contiguous = false;
    CHECK_THROWS_WITH(refused(other), "table and ids must be contiguous");
    places[3] = kRows;
    CHECK_THROWS_AS(refused(tensor_of(places, at::kLong, {kBatch, kSeq})), std::out_of_range);
    x.type = at::kInt;
    CHECK_THROWS_WITH(refused(ids), "x must be float, double, half or bfloat16");
    x.cpu = false;
    CHECK_THROWS_WITH(refused(ids), "rope rotates on the CPU");
    x.sizes.pop_back();
    CHECK_THROWS_WITH(refused(ids), "x needs four axes, table two");
}
