// SPDX-License-Identifier: MIT
#include "model.hpp"

#include <cstddef>
#include <cstdlib>
#include <utility>

#include "binary_file.hpp"
#include "tokenizer.hpp"

namespace llama {
namespace {

/// One number of the header, which must be from 1 on.
Index read_extent(BinaryFile& file, const std::string& name) {
    const Index value = file.read_int32("its header");
    if (value < 1)
        file.refuse("has a header in which " + name + " is " + std::to_string(value) + "; it must be at least 1.");
    return value;
}

Shape read_shape(BinaryFile& file) {
    Shape shape;
    shape.dim = read_extent(file, "dim");
    shape.hidden_dim = read_extent(file, "hidden_dim");
    shape.n_layers = read_extent(file, "n_layers");
    shape.n_heads = read_extent(file, "n_heads");
    shape.n_kv_heads = read_extent(file, "n_kv_heads");
    // The sign says whether output weights of their own end the file.
    const Index vocab_size = file.read_int32("its header");
    shape.vocab_size = std::abs(vocab_size);
    shape.has_output_weights = vocab_size < 0;
    shape.seq_len = read_extent(file, "seq_len");

    if (shape.vocab_size < kFirstPiece)
        file.refuse("has a header in which vocab_size is " + std::to_string(vocab_size) +
                    "; a vocabulary begins with " + std::to_string(kFirstPiece) +
                    " tokens that every Llama has, so it must have at least as many.");
    if (shape.dim % shape.n_heads != 0)
        file.refuse("has a header in which n_heads is " + std::to_string(shape.n_heads) +
                    "; it must divide dim, which is " + std::to_string(shape.dim) + ".");
    if (shape.n_heads % shape.n_kv_heads != 0)
        file.refuse("has a header in which n_kv_heads is " + std::to_string(shape.n_kv_heads) +
                    "; it must divide n_heads, which is " + std::to_string(shape.n_heads) + ".");
    if (shape.head_dim() % 2 != 0)
        file.refuse("has a header in which dim / n_heads is " + std::to_string(shape.head_dim()) +
                    "; rotary embedding turns pairs of features, so it must be even.");
    return shape;
}

/// How fast the pairs of a head turn: Llama's base of 10000, over the whole head.
rope::Config rope_config(const Shape& shape, rope::Layout layout) {
    rope::Config config;
    config.head_dim = shape.head_dim();
    config.base = 10000.0;
    config.layout = layout;
    return config;
}

}  // namespace

Model read_model(const std::string& path, rope::Layout layout) {
    BinaryFile file(path);
    const Shape s = read_shape(file);

    // Memory is taken for what the file holds, not for what its header claims.
    const std::size_t odd_bytes = file.left() % sizeof(float);
    std::vector<float> numbers = file.read_floats(file.left() / sizeof(float), "the weights");
    float* at = numbers.data();
    Index left = static_cast<Index>(numbers.size());

    const auto next = [&](const std::string& name, Index rows, Index cols) {
        // A division, because rows * cols of a damaged header may not fit into any integer.
        if (cols > left / rows)
            file.refuse("ends inside " + name + ": its header asks for " + std::to_string(rows) + " x " +
                        std::to_string(cols) + " numbers there, and " + std::to_string(left) + " are left.");
        const Weight weight(at, rows, cols);
        at += rows * cols;
        left -= rows * cols;
        return weight;
    };
    const Weight token_embedding = next("token_embedding", s.vocab_size, s.dim);
    const Weight rms_att = next("rms_att", s.n_layers, s.dim);
    float* const wq_begin = at;
    const Weight wq = next("wq", s.n_layers * s.dim, s.dim);
    float* const wk_begin = at;
    const Weight wk = next("wk", s.n_layers * s.kv_dim(), s.dim);
    const Weight wv = next("wv", s.n_layers * s.kv_dim(), s.dim);
    const Weight wo = next("wo", s.n_layers * s.dim, s.dim);
    const Weight rms_ffn = next("rms_ffn", s.n_layers, s.dim);
    const Weight w1 = next("w1", s.n_layers * s.hidden_dim, s.dim);
    const Weight w2 = next("w2", s.n_layers * s.dim, s.hidden_dim);
    const Weight w3 = next("w3", s.n_layers * s.hidden_dim, s.dim);
    const Weight rms_final = next("rms_final", 1, s.dim);
    // Tables of cos and sin come next. They are stepped over: rope::CosSinCache makes its own.
    next("the cos table", s.seq_len, s.head_dim() / 2);
    next("the sin table", s.seq_len, s.head_dim() / 2);
    const Weight output = s.has_output_weights ? next("output", s.vocab_size, s.dim) : token_embedding;

    const std::size_t surplus = static_cast<std::size_t>(left) * sizeof(float) + odd_bytes;
    if (surplus != 0)
        file.refuse("goes on after the last weight that its header describes (surplus bytes: " +
                    std::to_string(surplus) + ").");

    // The layers lie one below the other: to permute_rows, they are so many heads more.
    const rope::Config rotation = rope_config(s, layout);
    rope::permute_rows(wq_begin, rope::head_rows<float>(rotation, s.n_layers * s.n_heads, s.dim),
                       rope::Layout::interleaved, layout);
    rope::permute_rows(wk_begin, rope::head_rows<float>(rotation, s.n_layers * s.n_kv_heads, s.dim),
                       rope::Layout::interleaved, layout);
    const auto kept = std::make_shared<const std::vector<float>>(std::move(numbers));
    return {s, rotation, token_embedding, rms_att, wq, wk, wv, wo, rms_ffn, w1, w2, w3, rms_final, output, kept};
}

}  // namespace llama
