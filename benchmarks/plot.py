#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws what the programs beside it have measured: plot.py FOLDER_WITH_JSON FOLDER_FOR_SVG."""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

TYPES = ["float", "double", "half", "bfloat16"]
# Colours that can be told apart with any eyes, on paper that is white in the dark, too.
LINES = {"scale": ("#777777", "--"), "additive": ("#d55e00", "-"),
         "half_split": ("#0072b2", "-"), "interleaved": ("#009e73", "-")}
SETS = ["#0072b2", "#d55e00", "#777777", "#009e73", "#cc79a7"]

plt.rcParams.update({
    "svg.fonttype": "none", "svg.hashsalt": "rope", "axes.unicode_minus": False,  # small, plain and the same each time
    "font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False,
    "figure.facecolor": "white", "savefig.facecolor": "white"})


def read(path):
    """The context, and for each contest its numbers: medians over the repetitions."""
    if not path.exists():
        sys.exit(f"{path.name} is missing: build the target `table` first, it measures and writes it.")
    data = json.loads(path.read_text())
    contests = {}
    for run in data["benchmarks"]:
        if run.get("aggregate_name", "median") == "median":  # a single repetition has no aggregates
            contests[run["run_name"].split("/iterations")[0]] = run
    return data["context"], contests


def size_name(size):
    return f"{size / 2**20:g} MiB" if size >= 2**20 else f"{size / 2**10:g} KiB"


def mark_caches(axes, context):
    for cache in context["caches"]:
        if cache["type"] == "Instruction":
            continue
        axes.axvline(cache["size"], color="#bbbbbb", linewidth=0.8, zorder=0)
        axes.text(cache["size"], 0.99, f" L{cache['level']}", transform=axes.get_xaxis_transform(), color="#777777",
                  va="top", ha="left", fontsize=8)


def panels(context, title):
    """Four panels, one per type, of nanoseconds per element against bytes."""
    figure, grid = plt.subplots(2, 2, figsize=(9, 6.2), sharex=True, sharey=True)
    for axes, name in zip(grid.flat, TYPES):
        axes.set_title(name)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.xaxis.set_major_locator(FixedLocator([2**i for i in range(12, 30, 3)]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_name(size)))
        axes.yaxis.set_major_locator(LogLocator(10, [1, 2, 5]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda time, _: f"{time:g}"))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.grid(axis="y", color="#eeeeee")
        mark_caches(axes, context)
    for axes in grid[1]:
        axes.set_xlabel("data of one call")
    for axes in grid[:, 0]:
        axes.set_ylabel("ns per element")
    figure.suptitle(title)
    return figure, grid.flat


def points(contests, isa, element, contestant):
    """Sizes in bytes, and nanoseconds per element."""
    runs = [run for name, run in contests.items() if name.startswith(f"{isa} {element} [")]
    runs.sort(key=lambda run: run["bytes"])
    return [run["bytes"] for run in runs], [1e3 * run[f"{contestant} [us]"] / run["elements"] for run in runs]


def save(figure, path):
    figure.savefig(path, metadata={"Date": None})
    print(path.name)


def draw_types(context, contests, isa, path):
    figure, grid = panels(context, f"In place, one thread, {isa}: the vertical lines are the sizes of the caches")
    for axes, element in zip(grid, TYPES):
        for contestant, (color, style) in LINES.items():
            axes.plot(*points(contests, isa, element, contestant), style, color=color, label=contestant, linewidth=1.4)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=4, frameon=False)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    save(figure, path)


def draw_sets(context, contests, sets, path):
    figure, grid = panels(context, "Half-split RoPE, and scale dashed, with each instruction set")
    for axes, element in zip(grid, TYPES):
        for isa, color in zip(sets, SETS):
            axes.plot(*points(contests, isa, element, "half_split"), "-", color=color, label=isa, linewidth=1.4)
            axes.plot(*points(contests, isa, element, "scale"), "--", color=color, linewidth=1)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=len(sets), frameon=False)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    save(figure, path)


def draw_baselines(contests, path):
    contests = {name.split(" ", 1)[1]: run for name, run in contests.items() if name.startswith("baselines ")}
    ending = " / apply"
    baselines = [key[:-len(ending)] for key in next(iter(contests.values())) if key.endswith(ending)]
    baselines.sort(key=lambda name: max(run[name + ending] for run in contests.values()))
    figure, axes = plt.subplots(figsize=(9, 3.8))
    height = 0.8 / len(contests)
    shapes = sorted(contests, key=lambda shape: contests[shape]["apply [us]"])
    for i, (shape, color) in enumerate(zip(shapes, ("#56b4e9", "#0072b2", "#003f66"))):
        places = [row + (i - 1) * height for row in range(len(baselines))]
        times = [contests[shape][name + ending] for name in baselines]
        axes.barh(places, times, height * 0.92, left=0, color=color, label=shape)
        for place, time in zip(places, times):
            axes.text(time, place, f" {time:.1f}", va="center", fontsize=8)
    axes.set_yticks(range(len(baselines)), baselines)
    axes.invert_yaxis()
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("time, as a multiple of rope::apply (the line at 1)")
    axes.set_title("RoPE as it is commonly written: float, half-split, one thread")
    figure.legend(title="[seq, heads, head_dim]", ncol=3, frameon=False, loc="lower center")
    figure.tight_layout(rect=(0, 0.12, 1, 1))
    save(figure, path)


def draw_tables(tables, sequences, path):
    figure, (time, memory, length) = plt.subplots(1, 3, figsize=(9, 3.4))
    tables = [run for name, run in tables.items() if name.startswith("heads ")]
    for heads, color in zip((1, 2, 8, 32), SETS):
        runs = sorted((run for run in tables if run["heads"] == heads), key=lambda run: run["positions"])
        for table, style in (("compact", "-"), ("full", "--")):
            found = [run for run in runs if f"{table} / scale" in run]
            time.plot([run["positions"] for run in found], [run[f"{table} / scale"] for run in found], style, color=color,
                      label=f"{heads} head{'s' * (heads > 1)}" if table == "compact" else None, linewidth=1.4)
    time.set_title("time / scale; full table dashed")
    time.set_xlabel("positions of the table")
    time.set_ylim(bottom=0)
    time.legend(frameon=False, fontsize=8)
    runs = sorted((run for run in tables if run["heads"] == 1), key=lambda run: run["positions"])
    for table, style in (("compact", "-"), ("full", "--")):
        memory.plot([run["positions"] for run in runs], [run[f"{table} bytes"] for run in runs], style, color="#0072b2")
    memory.set_yscale("log", base=2)
    memory.yaxis.set_major_locator(FixedLocator([2**i for i in range(15, 35, 5)]))
    memory.yaxis.set_major_formatter(FuncFormatter(lambda size, _: size_name(size)))
    memory.yaxis.set_minor_locator(NullLocator())
    memory.set_title("memory, 64 pairs, float")
    memory.set_xlabel("positions of the table")
    for heads, color in ((1, "#0072b2"), (8, "#d55e00")):
        runs = [run for name, run in sequences.items() if name.startswith(f"sequence heads {heads} ")]
        runs.sort(key=lambda run: run["tokens"])
        for rows, style in (("compact", "-"), ("rows", ":")):
            length.plot([run["tokens"] for run in runs], [run[f"{rows} / scale"] for run in runs], style, color=color,
                        label=f"{rows}, {heads} head{'s' * (heads > 1)}", linewidth=1.4)
    length.set_title("time / scale, steps of 512 tokens")
    length.set_xlabel("tokens of the sequence")
    length.set_ylim(0, 1.6 * length.get_ylim()[1])
    length.legend(frameon=False, fontsize=8, loc="upper right")
    for axes in (time, memory, length):
        axes.set_xscale("log")
        axes.grid(axis="y", color="#eeeeee")
    figure.tight_layout()
    save(figure, path)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, target = map(pathlib.Path, sys.argv[1:])
    context, contests = read(source / "rope_matrix.json")
    sets = list(dict.fromkeys(name.split()[0] for name in contests))
    sets.sort(key=lambda isa: (isa != context["isa"], isa == "portable", isa))  # the best, which is in use, first
    draw_types(context, contests, sets[0], target / "time_per_element.svg")
    draw_sets(context, contests, sets, target / "instruction_sets.svg")
    draw_baselines(read(source / "rope_bench.json")[1], target / "baselines.svg")
    draw_tables(read(source / "rope_compact_tables.json")[1], read(source / "rope_rows.json")[1], target / "tables.svg")


if __name__ == "__main__":
    main()
