// SPDX-License-Identifier: MIT
#include "checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
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

std::string text_of(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", number);
    return text;
}

bool is_loss(double nats) { return std::isfinite(nats) && nats >= 0.0; }

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
                   std::to_string(text.hash())),
      settings_(settings) {}

void Checkpoint::refuse(const std::string& sentence) const {
    throw std::runtime_error("The checkpoint " + path_ + " " + sentence);
}

bool Checkpoint::exists() const {
    std::error_code error;  // of a file that is there and cannot be looked at: read() says so
    return std::filesystem::status(path_, error).type() != std::filesystem::file_type::not_found;
}

/// Step and losses since the last point, and how many points there are: all follow from the step.
void Checkpoint::check_progress(const Saved& saved, std::uint64_t points) const {
    const Index last = settings_.steps, every = settings_.steps_per_point();
    if (saved.step < 1 || saved.step > last)
        refuse("has step " + std::to_string(saved.step) + "; it must be from 1 to " + std::to_string(last) +
               ", the value of --steps.");
    const std::string after = "; after step " + std::to_string(saved.step);
    const Index count = saved.step == last ? 0 : saved.step % every;
    if (saved.loss_count != count)
        refuse("has a loss_count of " + std::to_string(saved.loss_count) + after + " it must be " +
               std::to_string(count) + ".");
    if (!is_loss(saved.loss_sum) || (count == 0 && saved.loss_sum != 0.0))
        refuse("has a loss_sum of " + text_of(saved.loss_sum) + after + " it must be " +
               (count == 0 ? "0." : "finite and at least 0."));
    const auto due = static_cast<std::uint64_t>(saved.step / every + (saved.step == last && last % every != 0));
    if (points != due)
        refuse("has " + std::to_string(points) + " points of the curve" + after + " it must have " +
               std::to_string(due) + ".");
}

void Checkpoint::check_curve(const std::vector<CurvePoint>& curve) const {
    Index step = 0;
    for (std::size_t i = 0; i < curve.size(); ++i) {
        const std::string at = " at point " + std::to_string(i) + " of the curve; it must be ";
        step = std::min(step + settings_.steps_per_point(), settings_.steps);
        if (curve[i].step != static_cast<double>(step))
            refuse("has step " + text_of(curve[i].step) + at + std::to_string(step) + ".");
        for (const double loss : {curve[i].training, curve[i].validation})
            if (!is_loss(loss)) refuse("has a loss of " + text_of(loss) + at + "finite and at least 0.");
    }
}

void Checkpoint::check_numbers(const Vector<float>& numbers, const char* what, double least) const {
    for (Index i = 0; i < numbers.size(); ++i)
        if (!std::isfinite(numbers[i]) || numbers[i] < least)
            refuse("has " + text_of(numbers[i]) + " as number " + std::to_string(i) + " of the " + what +
                   "; it must be finite" + (least == 0.0 ? " and at least 0." : "."));
}

Saved Checkpoint::read(Index weight_count) const {
    const Text::Bytes bytes = whole_file(path_, "The checkpoint " + path_);
    const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (file.compare(0, kMarkSize, kMark) != 0) refuse("does not begin as a checkpoint of this program does.");
    if (file.size() < kMarkSize + sizeof(std::uint64_t)) refuse("is damaged: it ends after its first line.");
    const std::size_t end = file.size() - sizeof(std::uint64_t);
    std::uint64_t hash;
    std::memcpy(&hash, file.data() + end, sizeof hash);
    if (hash != fnv1a(file.data(), end))
        refuse("is damaged: the hash at its end is not the hash of its " + std::to_string(end) + " bytes before.");

    Reader reader(file.substr(kMarkSize, end - kMarkSize));
    Saved saved;
    try {
        const std::string description(reader.take(reader.number<std::uint64_t>()));
        if (description != description_)
            refuse("is of another run, \"" + description + "\"; this run is \"" + description_ + "\".");
        saved.step = reader.number<Index>();
        saved.loss_sum = reader.number<double>();
        saved.loss_count = reader.number<Index>();
        const auto points = reader.number<std::uint64_t>();
        check_progress(saved, points);
        for (std::uint64_t i = 0; i < points; ++i) saved.curve.push_back(reader.number<CurvePoint>());
        check_curve(saved.curve);
        for (Vector<float>& numbers : saved.numbers) {
            numbers.resize(weight_count);
            const std::size_t size = static_cast<std::size_t>(weight_count) * sizeof(float);
            std::memcpy(numbers.data(), reader.take(size).data(), size);
        }
    } catch (const std::out_of_range&) {
        refuse("was written by another version of this program: it has too few numbers.");
    }
    if (!reader.is_empty()) refuse("was written by another version of this program: it has too many numbers.");
    constexpr double kAny = std::numeric_limits<double>::lowest();
    check_numbers(saved.numbers[0], "weights", kAny);
    check_numbers(saved.numbers[1], "means of gradients", kAny);
    check_numbers(saved.numbers[2], "means of squared gradients", 0.0);
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
