// SPDX-License-Identifier: MIT
#include "checkpoint.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace train {
namespace {

// A file is the mark, the description with its size before it, the numbers of Saved, and the hash of all before it.
// Numbers are as in memory. A machine of the other byte order does not find the hash, and refuses the file.
constexpr char kMark[] = "rope training 1\n";
constexpr std::size_t kMarkSize = sizeof kMark - 1;

/// Appends the bytes of a number.
template <class Number>
void put(std::string& to, Number number) {
    to.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Takes numbers from the front of a text whose hash is right, and whose size is checked all the same.
class Reader {
 public:
    explicit Reader(std::string_view text) : text_(text) {}

    bool has(std::size_t size) const { return size <= text_.size(); }
    std::string_view take(std::size_t size) {
        if (!has(size)) throw std::out_of_range("ends early");
        const std::string_view taken = text_.substr(0, size);
        text_.remove_prefix(size);
        return taken;
    }
    template <class Number>
    Number number() {
        Number result;
        std::memcpy(&result, take(sizeof result).data(), sizeof result);
        return result;
    }
    bool is_empty() const { return text_.empty(); }

 private:
    std::string_view text_;
};

}  // namespace

Checkpoint::Checkpoint(std::string path, const Settings& settings, const Text& text)
    : path_(std::move(path)),
      description_(describe(settings) + ", text of " + std::to_string(text.size()) + " bytes with the hash " +
                   std::to_string(text.hash())) {}

void Checkpoint::refuse(const std::string& sentence) const {
    throw std::runtime_error("The checkpoint " + path_ + " " + sentence);
}

bool Checkpoint::exists() const {
    std::error_code error;
    return std::filesystem::exists(path_, error);
}

Saved Checkpoint::read(Index weight_count) const {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path_, error)) refuse("is not a regular file.");
    std::ifstream stream(path_, std::ios::binary);
    const std::string file{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    if (!stream) refuse("cannot be read.");
    if (file.compare(0, kMarkSize, kMark) != 0) refuse("does not begin as a checkpoint of this program does.");
    if (file.size() < kMarkSize + sizeof(std::uint64_t)) refuse("is damaged: it ends after its first line.");
    const std::size_t end = file.size() - sizeof(std::uint64_t);
    std::uint64_t hash;
    std::memcpy(&hash, file.data() + end, sizeof hash);
    if (hash != fnv1a(file.data(), end))
        refuse("is damaged: the hash at its end is not the hash of its " + std::to_string(end) + " bytes before.");

    Reader reader(std::string_view(file).substr(kMarkSize, end - kMarkSize));
    Saved saved;
    try {
        const std::string description(reader.take(reader.number<std::uint64_t>()));
        if (description != description_)
            refuse("is of another run, \"" + description + "\"; this run is \"" + description_ + "\".");
        saved.step = reader.number<Index>();
        saved.loss_sum = reader.number<double>();
        saved.loss_count = reader.number<Index>();
        const auto points = reader.number<std::uint64_t>();
        for (std::uint64_t i = 0; i < points; ++i) saved.curve.push_back(reader.number<CurvePoint>());
        for (Vector<float>& numbers : saved.numbers) {
            numbers.resize(weight_count);
            const std::size_t size = static_cast<std::size_t>(weight_count) * sizeof(float);
            std::memcpy(numbers.data(), reader.take(size).data(), size);
        }
    } catch (const std::out_of_range&) {
        refuse("was written by another version of this program: it has too few numbers.");
    }
    if (!reader.is_empty()) refuse("was written by another version of this program: it has too many numbers.");
    return saved;
}

void Checkpoint::write(const Saved& saved) const {
    std::string file = kMark;
    put(file, static_cast<std::uint64_t>(description_.size()));
    file += description_;
    put(file, saved.step);
    put(file, saved.loss_sum);
    put(file, saved.loss_count);
    put(file, static_cast<std::uint64_t>(saved.curve.size()));
    for (const CurvePoint& point : saved.curve) put(file, point);
    for (const Vector<float>& numbers : saved.numbers)
        file.append(reinterpret_cast<const char*>(numbers.data()),
                    static_cast<std::size_t>(numbers.size()) * sizeof(float));
    put(file, fnv1a(file.data(), file.size()));

    const std::string part = path_ + ".part";
    std::ofstream stream(part, std::ios::binary);
    stream.write(file.data(), static_cast<std::streamsize>(file.size()));
    stream.close();
    if (!stream) refuse("cannot be written.");
    std::error_code error;
    std::filesystem::rename(part, path_, error);
    if (error) refuse("cannot be written: " + part + " could not be renamed.");
}

}  // namespace train
