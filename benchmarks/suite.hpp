// SPDX-License-Identifier: MIT
// Contests, what their ratios should be, and the table that shows both.
#pragma once

#include <rope/core.hpp>
#include <rope/isa.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "contest.hpp"

namespace bench {

/// The time of one contestant over that of another, and what it should be. Where no other is named: the time itself,
/// multiplied to the unit that the column says.
struct Cell {
    enum Goal { none, at_most, at_least };
    std::string over, under;
    Goal goal = none;
    double limit = 0;
    double units_per_second = 0;
};

/// One line of a section: the time of one contestant, and ratios.
struct Row {
    const Contest* contest;
    std::string label;
    std::string time_of;
    std::vector<Cell> cells;
};

/// columns are the headings of the time and of the ratios.
struct Section {
    std::string title;
    double units_per_second;
    std::vector<std::string> columns;
    std::vector<Row> rows;
};

class Suite {
 public:
    Contest& contest(std::string name, int rounds) { return contests_.emplace_back(std::move(name), rounds); }

    Section& section(std::string title, double units_per_second, std::vector<std::string> columns) {
        return sections_.emplace_back(Section{std::move(title), units_per_second, std::move(columns), {}});
    }

    /// Runs what the command line asks for; flags of Google Benchmark, with defaults for two of them.
    /// False when it is wrong.
    bool run(int argc, char** argv, const char* repetitions) {
        std::string defaults[] = {"--benchmark_enable_random_interleaving=true",
                                  std::string("--benchmark_repetitions=") + repetitions};
        std::vector<char*> args = {argv[0], defaults[0].data(), defaults[1].data()};
        args.insert(args.end(), argv + 1, argv + argc);
        int count = static_cast<int>(args.size());
        args.push_back(nullptr);
        benchmark::Initialize(&count, args.data());
        if (benchmark::ReportUnrecognizedArguments(count, args.data())) return false;
        print_machine();
        for (Contest& c : contests_) c.enroll();
        Quiet quiet;
        benchmark::RunSpecifiedBenchmarks(&quiet);
        benchmark::Shutdown();
        return true;
    }

    void print() const {
        int goals = 0;
        std::vector<std::string> missed;
        for (const Section& s : sections_) print(s, goals, missed);
        if (goals == 0) return;
        std::printf("\n%d of %d goals are met.%s\n", goals - static_cast<int>(missed.size()), goals,
                    missed.empty() ? "" : " Missed, with * above:");
        for (const std::string& line : missed) std::printf("    %s\n", line.c_str());
    }

    const std::list<Contest>& contests() const { return contests_; }

 private:
    /// Google Benchmark's own lines are left out: the table says it all, and the JSON file has the rest.
    class Quiet : public benchmark::BenchmarkReporter {
     public:
        bool ReportContext(const Context&) override { return true; }
        void ReportRuns(const std::vector<Run>& runs) override {
            for (const Run& run : runs)
                if (run.error_occurred) std::fprintf(stderr, "%s\n", run.error_message.c_str());
        }
    };

    static void print_machine() {
        const std::string compiler =
#if defined(__clang__)
            __VERSION__;
#else
            std::string("g++ ") + __VERSION__;
#endif
        benchmark::AddCustomContext("rope", ROPE_VERSION_STRING);
        benchmark::AddCustomContext("compiler", compiler);
        benchmark::AddCustomContext("isa", rope::active_isa());
        const benchmark::CPUInfo& cpu = benchmark::CPUInfo::Get();
        std::printf("rope %s, %s; %s of", ROPE_VERSION_STRING, compiler.c_str(), rope::active_isa());
        for (const char* name : rope::available_isas()) std::printf(" %s", name);
        std::printf("; %d processors", cpu.num_cpus);
        for (const auto& cache : cpu.caches)
            if (cache.type != "Instruction") std::printf(", L%d %d KiB", cache.level, cache.size / 1024);
        std::printf("\n");
        if (!cpu.load_avg.empty() && cpu.load_avg.front() > 0.5)
            std::printf("Other programs are running (load %.1f): the figures will be worth less.\n",
                        cpu.load_avg.front());
        std::fflush(stdout);
    }

    static std::string number(double value) {
        char text[32];
        std::snprintf(text, sizeof(text), value < 10 ? "%.3f" : value < 1000 ? "%.1f" : "%.0f", value);
        return text;
    }

    /// "1.18 <= 1.25", or "1.31 >  1.25 *" when the goal is missed. What counts is what is printed.
    static std::string text(const Cell& cell, double ratio, bool& met) {
        const double shown = std::round(100 * ratio) / 100;
        met = cell.goal == Cell::none || (cell.goal == Cell::at_most ? shown <= cell.limit : shown >= cell.limit);
        char text[64];
        if (cell.goal == Cell::none) {
            std::snprintf(text, sizeof(text), "%.2f", shown);
        } else {
            const char* const sign = cell.goal == Cell::at_most ? (met ? "<=" : "> ") : (met ? ">=" : "< ");
            std::snprintf(text, sizeof(text), "%.2f %s %.2f %s", shown, sign, cell.limit, met ? " " : "*");
        }
        return text;
    }

    static void print(const Section& s, int& goals, std::vector<std::string>& missed) {
        if (std::none_of(s.rows.begin(), s.rows.end(), [](const Row& row) { return row.contest->has_run(); })) return;
        std::printf("\n%s\n%-28s %13s", s.title.c_str(), "", s.columns.front().c_str());
        for (std::size_t i = 1; i < s.columns.size(); ++i) std::printf(" %16s", s.columns[i].c_str());
        std::printf("\n");
        for (const Row& row : s.rows) {
            if (!row.contest->has_run()) continue;
            std::printf("%-28s %13s", row.label.c_str(),
                        number(s.units_per_second * row.contest->seconds(row.time_of)).c_str());
            for (const Cell& cell : row.cells) {
                bool met = false;
                if (cell.under.empty()) {
                    std::printf(" %16s", number(cell.units_per_second * row.contest->seconds(cell.over)).c_str());
                    continue;
                }
                const std::string ratio = text(cell, row.contest->ratio(cell.over, cell.under), met);
                std::printf(" %16s", ratio.c_str());
                if (cell.goal != Cell::none) ++goals;
                if (!met) missed.push_back(row.label + ": " + cell.over + " / " + cell.under + " " + ratio);
            }
            std::printf("\n");
        }
    }

    std::list<Contest> contests_;
    std::list<Section> sections_;
};

}  // namespace bench
