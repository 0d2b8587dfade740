// SPDX-License-Identifier: MIT
#include "run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <stdexcept>

#include "checkpoint.hpp"
#include "curves.hpp"
#include "in_halves.hpp"

namespace train {
Run::Run(const Settings& settings, const Text& text, const std::string& folder)
    : settings_(settings),
      text_(text),
      list_(settings.shape),
      weights_(list_),
      optimiser_(list_),
      positions_(settings.shape, settings.shape.context),
      halves_(2, Transformer<float>(settings.shape, positions_)),
      gradients_(2, Weights<float>(list_)) {
    weights_.draw(settings.shape.seed);
    if (folder.empty()) return;
    path_ = (std::filesystem::path(folder) / run_name(settings.shape)).string();
    const Checkpoint checkpoint(path_ + ".checkpoint", settings, text);
    if (!checkpoint.exists()) return;
    Saved saved = checkpoint.read(list_.size);
    step_ = saved.step;
    loss_sum_ = saved.loss_sum;
    loss_count_ = saved.loss_count;
    curve_ = std::move(saved.curve);
    weights_.numbers = saved.numbers[0];
    optimiser_.mean.numbers = saved.numbers[1];
    optimiser_.square.numbers = saved.numbers[2];
}

Index Run::weight_count() const {
    return std::accumulate(list_.places.begin(), list_.places.end(), Index(0),
                           [](Index sum, const Place& p) { return sum + p.rows * p.cols; });
}

void Run::save() const {
    if (path_.empty()) return;
    Saved saved;
    saved.step = step_;
    saved.loss_sum = loss_sum_;
    saved.loss_count = loss_count_;
    saved.curve = curve_;
    saved.numbers[0] = weights_.numbers;
    saved.numbers[1] = optimiser_.mean.numbers;
    saved.numbers[2] = optimiser_.square.numbers;
    Checkpoint(path_ + ".checkpoint", settings_, text_).write(saved);
    write_csv(path_ + ".csv", curve_);
    write_svg(path_ + ".svg", {{"training", curve_, false}, {"validation", curve_, true}});
    const auto log_factors = weights_[list_.frequency];
    if (log_factors.size() > 0)
        write_frequencies(path_ + "-frequencies", {log_factors.data(), log_factors.data() + log_factors.size()});
}

/// One step; returns the mean loss of its batch.
double Run::train_step() {
    const Index batch = settings_.batch, context = settings_.shape.context;
    const Text::Bytes bytes = text_.training_batch(settings_.shape.seed, step_, batch, context);
    double sums[2] = {};
    positions_.update(weights_);
    in_halves(settings_.threads, [&](Index half) {
        const Index begin = batch * half / 2, count = batch * (half + 1) / 2 - begin;
        const Sequences sequences(bytes.data() + begin * (context + 1), count, context);
        const auto h = static_cast<std::size_t>(half);
        for (const double nats :
             halves_[h].forward(weights_, sequences.inputs.data(), sequences.targets.data(), count, context))
            sums[half] += nats;
        gradients_[h].numbers.setZero();
        halves_[h].backward(weights_, gradients_[h], 1.0f / static_cast<float>(batch * context));
    });
    gradients_[0].numbers += gradients_[1].numbers;
    optimiser_.update(weights_, gradients_[0], settings_, step_);
    ++step_;
    const double loss = (sums[0] + sums[1]) / static_cast<double>(batch * context);
    if (!std::isfinite(loss))
        throw std::runtime_error("The loss is not finite in step " + std::to_string(step_) + "; try a lower --rate.");
    return loss;
}

void Run::train(Index stop_at, const std::string& label) {
    const Index last = std::min(stop_at, settings_.steps), first = step_;
    const Index every = settings_.steps_per_point();
    const auto start = std::chrono::steady_clock::now();
    while (step_ < last) {
        loss_sum_ += train_step();
        ++loss_count_;
        if (step_ % every == 0 || step_ == settings_.steps) {
            const std::vector<double> nats = validate(kCurveWindows, settings_.shape.context, settings_.shape.context);
            curve_.push_back({static_cast<double>(step_), loss_sum_ / static_cast<double>(loss_count_),
                              std::accumulate(nats.begin(), nats.end(), 0.0) / kCurveWindows});
            loss_sum_ = 0.0;
            loss_count_ = 0;
            if (curve_.size() % 5 == 0 && step_ < last) save();
        }
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        const double left = time.count() / static_cast<double>(step_ - first) * static_cast<double>(last - step_);
        std::fprintf(stderr, "\r%s: step %td of %td, validation %.3f, %.0f s left   ", label.c_str(), step_,
                     settings_.steps, curve_.empty() ? 0.0 : curve_.back().validation, left);
    }
    if (step_ > first) {
        std::fputs("\n", stderr);
        save();
    }
}

std::vector<double> Run::validate(Index count, Index length, Index seq, const rope::Config& rotation) const {
    Positions<float> positions(settings_.shape, seq, rotation);
    positions.update(weights_);
    const Text::Bytes windows = text_.validation_windows(count, length);
    std::vector<double> result(static_cast<std::size_t>(count));
    in_halves(settings_.threads, [&](Index half) {
        Transformer<float> network(settings_.shape, positions);
        for (Index i = count * half / 2; i < count * (half + 1) / 2; ++i) {
            const unsigned char* window = windows.data() + i * (length + 1);
            // Cut into sequences, a window still has its inputs, one byte later, as targets.
            const std::vector<double> nats = network.forward(weights_, window, window + 1, length / seq, seq);
            result[static_cast<std::size_t>(i)] =
                std::accumulate(nats.begin(), nats.end(), 0.0) / static_cast<double>(length);
        }
    });
    for (const double nats : result)
        if (!std::isfinite(nats))
            throw std::runtime_error("The validation loss is not finite after step " + std::to_string(step_) +
                                     "; try a lower --rate.");
    return result;
}

}  // namespace train
