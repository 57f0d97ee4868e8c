"""Record of one run: JSON with all results, Markdown tables, plots of how costs scale."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from .goal import Judged
from .goals import GOALS
from .measuring import Results, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PACKAGES = ("lazysketch", "numpy", "pyarrow", "polars", "datasketches", "opendp")

AXES = {
    "step": "step at which the batch begins",
    "width": "width",
    "depth": "depth",
    "threads": "threads",
}


Facts = Mapping[str, str | float | None]


def machine() -> Facts:
    """Return processor, memory, system, versions, and the load of the machine."""
    facts: dict[str, str | float | None] = {
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "architecture": platform.machine(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": sys.version.split()[0],
        "load at start": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "rustc": version_of_rust(),
    }
    for package in PACKAGES:
        try:
            facts[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            facts[package] = "missing: not measured"
    return facts


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    fields = {key.strip(): value for key, _, value in (line.partition(":") for line in lines)}
    name, flags = fields.get("model name", "").strip(), fields.get("flags", "")
    wide = [flag for flag in ("avx2", "avx512f", "vaes") if f" {flag} " in f"{flags} "]
    return f"{name} ({', '.join(wide)})" if wide else name


def version_of_rust() -> str:
    try:
        return subprocess.check_output(["rustc", "--version"], text=True).strip()
    except OSError:
        return "unknown"


def write(folder: Path, name: str, facts: Facts, results: Results) -> None:
    """Write ``name``.json, .md and .png into the folder."""
    goals = [goal.row(results) for goal in GOALS]
    record = {"machine": facts, "goals": goals, "results": results}
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    (folder / f"{name}.md").write_text(markdown(name, facts, goals, results))
    plot(folder / f"{name}.png", results)


def number(found: float | None) -> str:
    if found is None:
        return "not measured"
    return f"{found:,.0f}" if abs(found) >= 100 else f"{found:.3g}"


def markdown(name: str, facts: Facts, goals: Sequence[Judged], results: Results) -> str:
    lines = [f"# Speed, {name}", "", "Made by `make bench`. Medians of interleaved rounds.", ""]
    lines += [f"- {key}: {fact}" for key, fact in facts.items()]
    lines += ["", "## Goals", "", "| goal | limit | found, worst | met |", "|---|---|---|---|"]
    for row in goals:
        met = {True: "yes", False: "NO", None: "-"}[row["met"]]
        lines.append(f"| {row['goal']} | {row['limit']:g} | {number(row['found'])} | {met} |")
    groups = list(dict.fromkeys(row["group"] for row in results))
    for group in groups:
        rows = [row for row in results if row["group"] == group]
        lines += ["", f"## {group.capitalize()}", "", *table(rows)]
    return "\n".join(lines) + "\n"


def table(results: Results) -> list[str]:
    """Return one line per result, with the columns that differ between results."""
    rows: Sequence[Mapping[str, object]] = results
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


def show(fact: object) -> str:
    if fact is None:
        return ""
    return f"{fact:.4g}" if isinstance(fact, float) else str(fact)


def plot(path: Path, results: Results) -> None:
    """Draw the cost per event along each axis, and ours and the others by width."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    canvas, axes = pyplot.subplots(2, 3, figsize=(15, 8), constrained_layout=True)
    for panel, (axis, label) in zip(axes.flat, AXES.items(), strict=False):
        rows = [row for row in results if row["group"] == axis]
        for name in dict.fromkeys(row["name"] for row in rows):
            points = sorted(
                (figure(row, axis), row["least_ns"]) for row in rows if row["name"] == name
            )
            panel.plot(*zip(*points, strict=True), marker="o", label=name)
        panel.set(xlabel=label, ylabel="ns per event", ylim=(0, None))
        if axis in ("step", "width"):
            panel.set_xscale("log", base=2)
        if rows:
            panel.legend(fontsize=8)
    by_width(axes[1, 1], results, kind="CountMin")
    by_width(axes[1, 2], results, kind="CountSketch")
    canvas.suptitle(
        "Cost of one event in batches of 10^6, 64-bit integers, Zipf 1.3; fastest of the rounds"
    )
    canvas.savefig(path, dpi=90)
    pyplot.close(canvas)


def by_width(panel: Axes, results: Results, *, kind: str) -> None:
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
