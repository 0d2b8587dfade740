// SPDX-License-Identifier: MIT
#include "tokenizer.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "binary_file.hpp"

namespace llama {
namespace {

constexpr int kNone = -1;

std::size_t at(int id) { return static_cast<std::size_t>(id); }

/// How the file spells the token of one byte: <0x0A>.
std::string byte_spelling(int byte) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", static_cast<unsigned>(byte));
    return text;
}

/// Bytes of the UTF-8 character at the front of the text; stray and cut-off bytes count as they come.
std::size_t character_size(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t expected = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    std::size_t size = 1;
    while (size < expected && size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) ++size;
    return size;
}

}  // namespace

Tokenizer::Tokenizer(const std::string& path, Eigen::Index vocab_size) {
    BinaryFile file(path);
    const std::int32_t longest = file.read_int32("its header");
    if (longest < 1)
        file.refuse("says that max_token_length is " + std::to_string(longest) + "; it must be at least 1.");

    for (int id = 0; id < vocab_size; ++id) {
        const std::string token = "token " + std::to_string(id);
        if (file.left() == 0)
            file.refuse("ends before " + token + "; the model has a vocabulary of " + std::to_string(vocab_size) +
                        " tokens.");
        scores_.push_back(file.read_float(token));
        if (!std::isfinite(scores_.back()))
            file.refuse("gives " + token + " a score of " + std::to_string(scores_.back()) + "; it must be finite.");
        const std::int32_t size = file.read_int32(token);
        if (size < 1 || size > longest)
            file.refuse("gives " + token + " a length of " + std::to_string(size) +
                        "; it must be from 1 to max_token_length, which is " + std::to_string(longest) + ".");
        std::string text = file.read_text(at(size), token);

        const int byte = id - kFirstByte;
        if (byte >= 0 && byte < 256) {
            if (text != byte_spelling(byte))
                file.refuse("has other text than " + byte_spelling(byte) + " in " + token +
                            ", where a Llama vocabulary has this byte.");
            text.assign(1, static_cast<char>(byte));
        }
        if (id >= kFirstPiece) ids_.emplace(text, id);
        texts_.push_back(std::move(text));
    }
    if (file.left() != 0)
        file.refuse("goes on after token " + std::to_string(vocab_size - 1) +
                    ", the last of the model's vocabulary (surplus bytes: " + std::to_string(file.left()) + ").");
}

int Tokenizer::find(const std::string& text) const {
    const auto entry = ids_.find(text);
    return entry == ids_.end() ? kNone : entry->second;
}

/// The piece that two neighbours make together. Bytes were not found as characters and stay as they are.
int Tokenizer::merged(int left, int right) const {
    if (left < kFirstPiece || right < kFirstPiece) return kNone;
    return find(texts_[at(left)] + texts_[at(right)]);
}

std::vector<int> Tokenizer::encode(std::string_view text) const {
    std::vector<int> tokens = {kBeginOfText};
    if (text.empty()) return tokens;

    // Training put a space in front of every text, so that a word is the same token at the start of a text as
    // after a space. Characters that are no piece of their own become the tokens of their bytes.
    const std::string spaced = " " + std::string(text);
    for (std::size_t begin = 0; begin < spaced.size();) {
        const std::string character = spaced.substr(begin, character_size(std::string_view(spaced).substr(begin)));
        begin += character.size();
        if (const int id = find(character); id != kNone) {
            tokens.push_back(id);
        } else {
            for (const char byte : character) tokens.push_back(kFirstByte + static_cast<unsigned char>(byte));
        }
    }

    // Neighbours are merged, best score first and leftmost among equals, until no two make a piece.
    // merges[i] is what tokens i and i + 1 would become; a merge changes only the two entries beside it.
    std::vector<int> merges(tokens.size(), kNone);
    const auto update = [&](std::size_t i) {
        merges[i] = i + 1 < tokens.size() ? merged(tokens[i], tokens[i + 1]) : kNone;
    };
    for (std::size_t i = 0; i < tokens.size(); ++i) update(i);
    for (;;) {
        std::size_t best = tokens.size();
        for (std::size_t i = 0; i < merges.size(); ++i)
            if (merges[i] != kNone && (best == tokens.size() || scores_[at(merges[i])] > scores_[at(merges[best])]))
                best = i;
        if (best == tokens.size()) return tokens;
        tokens[best] = merges[best];
        tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(best) + 1);
        merges.erase(merges.begin() + static_cast<std::ptrdiff_t>(best) + 1);
        update(best);
        update(best - 1);  // exists: token 0 is kBeginOfText, which never merges
    }
}

std::string_view Tokenizer::decode(int previous, int token) const {
    std::string_view text = texts_[at(token)];
    // The space that encode put in front of the text is no part of it.
    if (previous == kBeginOfText && text.front() == ' ') text.remove_prefix(1);
    return text;
}

}  // namespace llama
