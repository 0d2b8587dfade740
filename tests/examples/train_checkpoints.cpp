// SPDX-License-Identifier: MIT
// examples/train believes no number of a checkpoint: one that no run has is refused with a sentence, whatever its hash,
// before any of them is used. A picture of any losses has few rulers.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>

#include "checkpoint.hpp"
#include "curves.hpp"
#include "support/catch.hpp"

namespace {

using train::Index;
using train::Saved;

constexpr Index kWeights = 5;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
const char* const kText = "train_checkpoints.text";
const char* const kPath = "train_checkpoints.checkpoint";

train::Text text() {
    std::ofstream(kText, std::ios::binary) << std::string(2000, 'x');
    return train::Text(kText, 16);
}

/// After 13 of 100 steps: the curve has a point after every second step.
Saved after_13_steps() {
    Saved saved;
    saved.step = 13;
    saved.loss_sum = 4.5;
    saved.loss_count = 1;
    for (int i = 1; i <= 6; ++i) saved.curve.push_back({2.0 * i, 5.0, 5.5});
    for (train::Vector<float>& numbers : saved.numbers) numbers = train::Vector<float>::Constant(kWeights, 0.25f);
    return saved;
}

/// What is said of a checkpoint with other numbers, which is written with its hash; without the path.
std::string said_of(const std::function<void(Saved&)>& change, Index steps = 100) {
    train::Settings settings;
    settings.steps = steps;
    const train::Text read = text();
    const train::Checkpoint checkpoint(kPath, settings, read);
    Saved saved = after_13_steps();
    change(saved);
    checkpoint.write(saved);
    std::string sentence;
    try {
        const Saved again = checkpoint.read(kWeights);
        sentence =
            again.step == saved.step && again.loss_sum == saved.loss_sum && again.curve.size() == saved.curve.size()
                ? "read"
                : "read wrong";
    } catch (const std::runtime_error& error) {
        sentence = error.what();
    }
    const std::string subject = std::string("The checkpoint ") + kPath + " ";
    return sentence.compare(0, subject.size(), subject) == 0 ? sentence.substr(subject.size()) : sentence;
}

/// Without points 13 steps long, or with as many as there are after all.
void end(Saved& saved, Index step) {
    saved.step = step;
    saved.loss_sum = 0.0;
    saved.loss_count = 0;
}

}  // namespace

TEST_CASE("numbers that a run has are read") {
    CHECK(said_of([](Saved&) {}) == "read");
    CHECK(said_of([](Saved& s) { s.loss_sum = 0.0; }) == "read");
    CHECK(said_of([](Saved& s) { s.loss_sum = 1e300; }) == "read");
    CHECK(said_of([](Saved& s) { s.numbers[0][1] = -3e38f; }) == "read");
    CHECK(said_of([](Saved& s) { end(s, 12); }) == "read");
    CHECK(said_of(
              [](Saved& s) {
                  end(s, 13);
                  s.curve.push_back({13.0, 5.0, 5.0});
                  for (int i = 0; i < 7; ++i) s.curve[static_cast<std::size_t>(i)].step = i < 6 ? i + 1.0 : 7.0;
                  for (int i = 7; i < 13; ++i) s.curve.push_back({i + 1.0, 5.0, 5.0});
              },
              13) == "read");
    CHECK(said_of(
              [](Saved& s) {
                  end(s, 101);
                  s.curve.clear();
                  for (int i = 1; i <= 50; ++i) s.curve.push_back({2.0 * i, 5.0, 5.0});
                  s.curve.push_back({101.0, 5.0, 5.0});
              },
              101) == "read");
}

TEST_CASE("the step is one of the run's") {
    for (const Index step :
         {Index(-3), Index(0), Index(101), std::numeric_limits<Index>::max(), std::numeric_limits<Index>::min()})
        CHECK(said_of([=](Saved& s) { s.step = step; }) ==
              "has step " + std::to_string(step) + "; it must be from 1 to 100, the value of --steps.");
    CHECK(said_of([](Saved& s) { s.step = 11; }) == "has 6 points of the curve; after step 11 it must have 5.");
}

TEST_CASE("the losses since the last point are as many as there are steps, and losses") {
    for (const Index count : {Index(-1), Index(0), Index(2), std::numeric_limits<Index>::max()})
        CHECK(said_of([=](Saved& s) { s.loss_count = count; }) ==
              "has a loss_count of " + std::to_string(count) + "; after step 13 it must be 1.");
    const auto refused = [](double sum) { return said_of([=](Saved& s) { s.loss_sum = sum; }); };
    const std::string must = "; after step 13 it must be finite and at least 0.";
    CHECK(refused(-1e20) == "has a loss_sum of -1e+20" + must);
    CHECK(refused(-0.5) == "has a loss_sum of -0.5" + must);
    CHECK(refused(kNan) == "has a loss_sum of nan" + must);
    CHECK(refused(kInfinity) == "has a loss_sum of inf" + must);
    CHECK(said_of([](Saved& s) {
              end(s, 12);
              s.loss_sum = 1e20;
          }) == "has a loss_sum of 1e+20; after step 12 it must be 0.");
}

TEST_CASE("the curve has its points, and each its step and losses") {
    CHECK(said_of([](Saved& s) { s.curve.pop_back(); }) == "has 5 points of the curve; after step 13 it must have 6.");
    CHECK(said_of([](Saved& s) { s.curve.resize(1000); }) ==
          "has 1000 points of the curve; after step 13 it must have 6.");
    for (const auto& [step, name] : {std::pair(5.0, "5"), std::pair(-1e20, "-1e+20"), std::pair(kNan, "nan")})
        CHECK(said_of([step = step](Saved& s) { s.curve[2].step = step; }) ==
              std::string("has step ") + name + " at point 2 of the curve; it must be 6.");
    for (const auto& [loss, name] : {std::pair(-1.0, "-1"), std::pair(kInfinity, "inf"), std::pair(kNan, "nan")}) {
        const std::string sentence =
            std::string("has a loss of ") + name + " at point 5 of the curve; it must be finite and at least 0.";
        CHECK(said_of([loss = loss](Saved& s) { s.curve[5].training = loss; }) == sentence);
        CHECK(said_of([loss = loss](Saved& s) { s.curve[5].validation = loss; }) == sentence);
    }
}

TEST_CASE("weights and moments are finite, and no square is negative") {
    const char* const names[] = {"weights", "means of gradients", "means of squared gradients"};
    for (std::size_t i = 0; i < 3; ++i) {
        const std::string must = std::string(" as number 4 of the ") + names[i] + "; it must be finite" +
                                 (i == 2 ? " and at least 0." : ".");
        const auto refused = [i](double x) {
            return said_of([=](Saved& s) { s.numbers[i][4] = static_cast<float>(x); });
        };
        CHECK(refused(kNan) == "has nan" + must);
        CHECK(refused(kInfinity) == "has inf" + must);
        CHECK(refused(-kInfinity) == "has -inf" + must);
        CHECK(refused(-0.5) == (i == 2 ? "has -0.5" + must : "read"));
    }
    CHECK(said_of([](Saved& s) { s.numbers[2] = train::Vector<float>::Zero(kWeights + 1); }) ==
          "was written by another version of this program: it has too many numbers.");
    CHECK(said_of([](Saved& s) { s.numbers[2] = train::Vector<float>::Zero(kWeights - 1); }) ==
          "was written by another version of this program: it has too few numbers.");
}

TEST_CASE("a picture of any losses has rulers, and not too many") {
    for (const double last : {2.0, 8.0, 50.0, 1e6, 1e20, 1e300}) {
        train::write_svg("train_checkpoints.svg", {{"label", {{1.0, 5.0, 5.0}, {2.0, last, last}}, true}});
        std::ifstream file("train_checkpoints.svg");
        const std::string svg{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
        std::size_t rulers = 0;
        for (std::size_t at = svg.find("<line"); at != std::string::npos; at = svg.find("<line", at + 1)) ++rulers;
        CAPTURE(last);
        CHECK((rulers >= 6 && rulers <= 42));
    }
    train::write_csv("train_checkpoints.csv", {{1.0, 1e100, 0.5}});
    std::ifstream file("train_checkpoints.csv");
    std::string line;
    std::getline(file, line);
    std::getline(file, line);
    CHECK(std::stod(line.substr(line.find(',') + 1)) == 1e100);
}
