"""A record of one run: JSON with everything, Markdown to read, plots of how costs scale."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .goals import GOALS, Results

AXES = {
    "step": "step at which the batch begins",
    "width": "width",
    "depth": "depth",
    "threads": "threads",
}


def write(folder: Path, name: str, machine: dict[str, Any], results: Results) -> None:
    """``name``.json, .md and .png in the folder."""
    goals = [goal.row(results) for goal in GOALS]
    record = {"machine": machine, "goals": goals, "results": results}
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    (folder / f"{name}.md").write_text(markdown(name, machine, goals, results))
    plot(folder / f"{name}.png", results)


def number(found: float | None) -> str:
    if found is None:
        return "not measured"
    return f"{found:,.0f}" if abs(found) >= 100 else f"{found:.3g}"


def markdown(
    name: str, machine: dict[str, Any], goals: list[dict[str, Any]], results: Results
) -> str:
    lines = [f"# Speed, {name}", "", "Made by `make bench`. Medians of interleaved rounds.", ""]
    lines += [f"- {key}: {fact}" for key, fact in machine.items()]
    lines += ["", "## Goals", "", "| goal | limit | found, worst | met |", "|---|---|---|---|"]
    for row in goals:
        met = {True: "yes", False: "NO", None: "-"}[row["met"]]
        lines.append(f"| {row['goal']} | {row['limit']:g} | {number(row['found'])} | {met} |")
    groups = list(dict.fromkeys(row["group"] for row in results))
    for group in groups:
        rows = [row for row in results if row["group"] == group]
        lines += ["", f"## {group.capitalize()}", "", *table(rows)]
    return "\n".join(lines) + "\n"


def table(rows: Results) -> list[str]:
    """One line per result, with the columns that any of them has."""
    columns = list(dict.fromkeys(key for row in rows for key in row if key != "group"))
    varying = [
        key
        for key in columns
        if key in ("name", "ns", "least_ns", "cpu_ns", "bytes", "seconds", "are", "instructions")
        or len({str(row.get(key)) for row in rows}) > 1
    ]
    shown = [[show(row.get(key)) for key in varying] for row in rows]
    head = ["ns on the clock" if key == "ns" else key.replace("_", " ") for key in varying]
    return [line(head), line(["---"] * len(head)), *map(line, shown)]


def line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def show(fact: Any) -> str:
    if fact is None:
        return ""
    return f"{fact:.4g}" if isinstance(fact, float) else str(fact)


def plot(path: Path, results: Results) -> None:
    """Cost per event along each axis, and ours beside the others by width."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(15, 8), constrained_layout=True)
    for panel, (axis, label) in zip(axes.flat, AXES.items(), strict=False):
        rows = [row for row in results if row["group"] == axis]
        for name in dict.fromkeys(row["name"] for row in rows):
            points = sorted((row[axis], row["least_ns"]) for row in rows if row["name"] == name)
            panel.plot(*zip(*points, strict=True), marker="o", label=name)
        panel.set(xlabel=label, ylabel="ns per event", ylim=(0, None))
        if axis in ("step", "width"):
            panel.set_xscale("log", base=2)
        if rows:
            panel.legend(fontsize=8)
    by_width(axes[1, 1], results, kind="CountMin")
    by_width(axes[1, 2], results, kind="CountSketch")
    figure.suptitle(
        "Cost of one event in batches of 10^6, 64-bit integers, Zipf 1.3; least of the rounds"
    )
    figure.savefig(path, dpi=90)
    pyplot.close(figure)


def by_width(panel: Any, results: Results, *, kind: str) -> None:
    rows = [
        row
        for row in results
        if row["group"] == "ingest" and row["skew"] == 1.3 and row["depth"] == 3
    ]
    names = dict.fromkeys(row["name"] for row in rows)
    for name in names:
        if kind not in name and not name.startswith(("plain", "the paper")):
            continue
        points = sorted((row["width"], row["least_ns"]) for row in rows if row["name"] == name)
        panel.plot(*zip(*points, strict=True), marker="o", label=name)
    panel.set(xlabel="width", ylabel="ns per event", xscale="log", yscale="log")
    if panel.lines:
        panel.legend(fontsize=8)
