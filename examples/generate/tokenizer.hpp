// SPDX-License-Identifier: MIT
// Tokenizer: text to token ids and back, with the byte-pair vocabulary of a llama2.c tokenizer.bin.
#pragma once

#include <Eigen/Core>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace llama {

// Every Llama vocabulary begins with the same tokens: three that stand for no text, one for each byte, and
// from kFirstPiece on the pieces of text that training found.
constexpr int kBeginOfText = 1;
constexpr int kEndOfText = 2;
constexpr int kFirstByte = 3;
constexpr int kFirstPiece = kFirstByte + 256;

class Tokenizer {
 public:
    /// Throws std::runtime_error with a sentence when the file does not hold exactly vocab_size tokens, or
    /// does not begin with the tokens above.
    Tokenizer(const std::string& path, Eigen::Index vocab_size);

    /// kBeginOfText and then the tokens of the text. Any bytes are accepted, valid UTF-8 or not.
    std::vector<int> encode(std::string_view text) const;

    /// The bytes that `token` adds to the text when it follows `previous`.
    std::string_view decode(int previous, int token) const;

 private:
    int find(const std::string& text) const;
    int merged(int left, int right) const;

    std::vector<std::string> texts_;            // what each token stands for; one raw byte for a byte token
    std::vector<float> scores_;                 // of two possible merges, the one with the higher score is made
    std::unordered_map<std::string, int> ids_;  // the pieces alone
};

}  // namespace llama
