// SPDX-License-Identifier: MIT
// The sentences of refusals, as they stand in the sources: each has as many "{}" as values, and no other brace but
// those of two words, one of which stands after a number: "{} {entry|entries}". The compiler does not look, because a
// sentence with its list of values is no template.
#include <rope/errors.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace {

bool opens(char c) { return c == '(' || c == '[' || c == '{'; }
bool closes(char c) { return c == ')' || c == ']' || c == '}'; }
bool is_literal(const std::string& s) { return !s.empty() && s.front() == '"' && s.back() == '"'; }

/// What stands between the bracket at text[at] and the one that closes it, cut at its commas.
std::vector<std::string> arguments(const std::string& text, std::size_t at) {
    std::vector<std::string> found(1);
    int depth = 0;
    for (std::size_t i = at; i < text.size(); ++i) {
        const std::size_t begin = i;
        if (text[i] == '"' || text[i] == '\'') {
            while (text[++i] != text[begin])
                if (text[i] == '\\') ++i;
        } else if (opens(text[i])) {
            if (++depth == 1) continue;
        } else if (closes(text[i])) {
            if (--depth == 0) break;
        } else if (text[i] == ',' && depth == 1) {
            found.emplace_back();
            continue;
        } else if (text[i] == '\n' || (text[i] == ' ' && (found.back().empty() || depth == 1))) {
            continue;
        }
        found.back() += text.substr(begin, i - begin + 1);
    }
    if (found.back().empty()) found.pop_back();
    return found;
}

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t i = text.find(what); i != std::string::npos; i = text.find(what, i + what.size())) ++n;
    return n;
}

/// Every call in a file that begins with `name`, checked; how many there are.
int check_calls(const std::string& text, const std::string& name) {
    int calls = 0;
    for (std::size_t i = text.find(name); i != std::string::npos; i = text.find(name, i + 1)) {
        std::vector<std::string> list = arguments(text, i + name.size() - 1);
        while (!list.empty() && !is_literal(list.front())) list.erase(list.begin());  // a condition, a declaration
        if (list.empty()) continue;
        ++calls;
        const std::string& sentence = list.front();
        INFO(sentence);
        REQUIRE(list.size() <= 2);
        const std::size_t values = list.size() == 1 ? 0 : arguments(list[1], 0).size();
        CHECK(count(sentence, "{}") == values);
        const std::size_t choices = count(sentence, "|");
        CHECK(count(sentence, "{") == values + choices + count(sentence, "{."));  // which JSON begins with
        CHECK(count(sentence, "}") == values + choices);
    }
    return calls;
}

}  // namespace

TEST_CASE("arguments are told apart") {
    CHECK(arguments("f(\"a, (\", {x, g(y, z)}, ',')", 1) ==
          std::vector<std::string>{"\"a, (\"", "{x, g(y, z)}", "','"});
    CHECK(arguments("{a[i, j], \"\\\"}\"}", 0) == std::vector<std::string>{"a[i, j]", "\"\\\"}\""});
    CHECK(arguments("f()", 1).empty());
}

TEST_CASE("every sentence has as many places as values") {
    int calls = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(ROPE_INCLUDE)) {
        if (entry.path().extension() != ".hpp") continue;
        std::ifstream file(entry.path());
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        INFO(entry.path());
        for (const char* name : {"invalid(", "out_of_range(", "out_of_memory(", "unless(", "Message(",
                                 "Message sentence(", "fail(", "warn(", "sentence_of("})
            calls += check_calls(text, name);
    }
    CHECK(calls >= 220);
}

TEST_CASE("a word after the number 1 is the first of two") {
    const auto says = [](rope::Index entries, rope::Index rows) {
        return std::string(
            rope::detail::Message("x has {} {entry|entries}, {} {row is|rows are} left, {.", {entries, rows}).text());
    };
    CHECK(says(1, 2) == "x has 1 entry, 2 rows are left, {.");
    CHECK(says(0, 1) == "x has 0 entries, 1 row is left, {.");
    CHECK(says(-1, 11) == "x has -1 entries, 11 rows are left, {.");
    CHECK(std::string(rope::detail::Message("{} {pair|pairs}", {"1"}).text()) == "1 pairs");
}
