// SPDX-License-Identifier: MIT
// Model: the shape and the weights of a Llama, as the llama2.c version-0 file holds them.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <rope/rope.hpp>
#include <string>
#include <vector>

namespace llama {

using Eigen::Index;

/// Activations and weights are row-major: row t is token t, row i of a weight makes output feature i. A layer
/// of the network is therefore y = x * weight.transpose().
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Weight = Eigen::Map<const Matrix>;

/// The rows of one layer in a weight that holds all layers, `rows` each.
inline auto layer_of(const Weight& weight, Index layer, Index rows) { return weight.middleRows(layer * rows, rows); }

/// The seven numbers of the file's header, by the names the format gives them.
struct Shape {
    Index dim = 0;         ///< features of a token
    Index hidden_dim = 0;  ///< features inside the feed-forward block
    Index n_layers = 0;
    Index n_heads = 0;     ///< query heads
    Index n_kv_heads = 0;  ///< key and value heads; each serves n_heads / n_kv_heads query heads
    Index vocab_size = 0;
    Index seq_len = 0;  ///< positions the model was trained for
    bool has_output_weights = false;

    Index head_dim() const { return dim / n_heads; }
    Index kv_dim() const { return n_kv_heads * head_dim(); }
};

/// Weights of all layers lie one below the other: layer l of wq is rows l * dim .. (l + 1) * dim - 1.
struct Model {
    Shape shape;
    rope::Config rotation;  ///< how queries and keys turn, in the layout that wq and wk are in

    Weight token_embedding;  ///< [vocab_size, dim]
    Weight rms_att;          ///< [n_layers, dim]
    Weight wq;               ///< [n_layers * dim, dim]
    Weight wk;               ///< [n_layers * kv_dim, dim]
    Weight wv;               ///< [n_layers * kv_dim, dim]
    Weight wo;               ///< [n_layers * dim, dim]
    Weight rms_ffn;          ///< [n_layers, dim]
    Weight w1;               ///< [n_layers * hidden_dim, dim]: the gate
    Weight w2;               ///< [n_layers * dim, hidden_dim]: back down
    Weight w3;               ///< [n_layers * hidden_dim, dim]: up
    Weight rms_final;        ///< [1, dim]
    Weight output;           ///< [vocab_size, dim]: token_embedding itself unless the file has its own

    /// What the maps above look into.
    std::shared_ptr<const std::vector<float>> numbers;
};

/// The file has the rows of wq and wk in the order of interleaved pairs; for the other layout they change places.
/// Throws std::runtime_error with a sentence when the file is not exactly what its header describes.
Model read_model(const std::string& path, rope::Layout layout);

}  // namespace llama
