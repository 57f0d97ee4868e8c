"""Reports: a self-contained HTML page, plots as PNG and SVG, and docs/experiments.md.

The table of claims, the exponents, the verdicts and the plots are computed from results. The page
of docs/ is made from the record, with small plots.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.claims import claims, exponents
from experiments.definition import Definition
from experiments.expectations import verdicts
from experiments.plots import draw
from experiments.plots.style import shrink
from experiments.summary import Result

__all__ = ["DOCUMENT", "IMAGES", "document", "write_documents", "write_report"]

_ROOT = Path(__file__).parents[1]
DOCUMENT = _ROOT / "docs/experiments.md"
IMAGES = _ROOT / "docs/images/experiments"
_PREAMBLE = Path(__file__).with_name("preamble.md")
_CLAIM_HEAD = ["claim", "the paper", "ours, their settings", "ours, our defaults", "agrees", "why"]
_EXPONENT_HEAD = ["quantity", "sketch", "of w: claimed", "fitted", "of T: claimed", "fitted"]
_EXPONENT_NOTE = (
    "Exponents are fitted by least squares of logarithms, to medians for times. Where the claim is "
    "a logarithm, the exponent is that of the logarithm and should be 1."
)
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  color: #111; background: #fff; }
img { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-size: .85rem; margin: 1rem 0; display: block;
  overflow-x: auto; }
td, th { border: 1px solid #bbb; padding: .25rem .5rem; text-align: left; vertical-align: top; }
details { margin: .5rem 0 2rem; } .failed { color: #b00; font-weight: bold; }
"""

Table = Sequence[Sequence[str]]
Definitions = Mapping[str, Definition]
Results = Mapping[str, Result]


def write_report(folder: Path, definitions: Definitions, results: Results) -> Path:
    """Write the HTML page and the plots.

    Args:
        folder: folder of the run.
        definitions: all experiments.
        results: results of those that were run.

    Returns:
        The page.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    parts = [f"<style>{_STYLE}</style>", _html(_preamble(definitions, results))]
    parts += ["<h2>Claims</h2>", _html_table(_CLAIM_HEAD, _claim_rows(results))]
    if rows := exponents(results):
        parts += ["<h2>Table 1, measured</h2>", _html_table(_EXPONENT_HEAD, rows)]
        parts.append(f"<p>{html.escape(_EXPONENT_NOTE)}</p>")
    for name, result in results.items():
        one = definitions[name]
        drawn = [folder / f"{name}{ending}" for ending in (".svg", ".png")]
        draw(one, result, drawn)
        source = base64.b64encode(drawn[0].read_bytes()).decode()
        parts.append(f"<h2>{html.escape(_heading(one))}</h2>")
        image = f'<img alt="{html.escape(one.title)}" src="data:image/svg+xml;base64,{source}">'
        parts += [image, _html_verdicts(one, result), _numbers(result)]
    page = folder / "index.html"
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>lazysketch: experiments'
    page.write_text(f"{head}</title>{''.join(parts)}</html>\n", encoding="utf-8")
    return page


def _heading(one: Definition) -> str:
    panel = f" ({one.panel})" if one.panel != "ours" else ""
    return f"{one.name}{panel}: {one.title}"


def _claim_rows(results: Results) -> list[list[str]]:
    return [[str(value) for value in vars(row).values()] for row in claims(results)]


def _html(markdown: str) -> str:
    """Convert the subset of Markdown that the preamble uses."""
    blocks = []
    for block in markdown.strip().split("\n\n"):
        text = html.escape(block, quote=False)
        text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
        text = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", text)
        text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)
        if text.startswith("# "):
            blocks.append(f"<h1>{text[2:]}</h1>")
        elif text.startswith("```"):
            inner = "\n".join(text.splitlines()[1:-1])
            blocks.append(f"<pre>{inner}</pre>")
        elif text.startswith("- "):
            entries = re.split(r"\n- ", text[2:])
            blocks.append("<ul>" + "".join(f"<li>{each}</li>" for each in entries) + "</ul>")
        else:
            blocks.append(f"<p>{text}</p>")
    return "".join(blocks)


def _html_table(head: Sequence[str], rows: Table) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        shown = (re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(each)) for each in row)
        return "<tr>" + "".join(f"<{tag}>{each}</{tag}>" for each in shown) + "</tr>"

    return f"<table>{cells('th', head)}{''.join(cells('td', row) for row in rows)}</table>"


def _html_verdicts(one: Definition, result: Result) -> str:
    entries = [
        f'<li class="{"" if each.passed else "failed"}">'
        f"{html.escape(f'{each.what}: {each.seen}')}{'' if each.passed else ', NOT MET'}</li>"
        for each in verdicts(one, result, None)
    ]
    return f"<ul>{''.join(entries)}</ul>"


def _numbers(result: Result) -> str:
    """Return all numbers in a collapsed table."""
    rows = [
        [series, metric, f"{x}", f"{each.mean:.4g}", f"{each.error:.2g}", f"{each.median:.4g}"]
        for (series, metric), line in result.numbers.items()
        if not metric.startswith("KB")
        for x, each in line.items()
    ]
    head = ["series", "metric", "value", "mean", "standard error", "median"]
    title = f"numbers ({result.trials} trials, {result.made['date']}, {result.made['machine']})"
    return f"<details><summary>{title}</summary>{_html_table(head, rows)}</details>"


def _preamble(definitions: Definitions, results: Results) -> str:
    made = max((result.made for result in results.values()), key=lambda made: str(made["date"]))
    total = sum(float(result.made["seconds"]) for result in results.values())
    text = _PREAMBLE.read_text(encoding="utf-8")
    facts = f"{made['date']}, {made['machine']}, {made['versions']}"
    random = [one for name, one in results.items() if not definitions[name].sequential]
    trials = sorted({one.trials for one in random or results.values()} - {1})
    shown = f"{trials[0]} to {trials[-1]}" if len(trials) > 1 else f"{(trials or [1])[0]}"
    return text.format(facts=facts, minutes=f"{total / 60:.0f}", trials=shown)


def _markdown_table(head: Sequence[str], rows: Table) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def document(definitions: Definitions, results: Results) -> str:
    """Return docs/experiments.md for the results.

    Args:
        definitions: all experiments.
        results: the record.

    Returns:
        Markdown.
    """
    parts = [_preamble(definitions, results).strip()]
    parts += ["## Claims", _markdown_table(_CLAIM_HEAD, _claim_rows(results))]
    if rows := exponents(results):
        parts += ["## Table 1, measured", _markdown_table(_EXPONENT_HEAD, rows), _EXPONENT_NOTE]
    for name, result in results.items():
        one = definitions[name]
        parts.append(f"## {_heading(one)}")
        parts.append(f"![{one.title}](images/experiments/{name}.png)")
        found = verdicts(one, result, None)
        if found:
            parts.append(
                "\n".join(
                    f"- {'' if each.passed else '**NOT MET** '}{each.what}: {each.seen}"
                    for each in found
                )
            )
    return "\n\n".join(parts) + "\n"


def write_documents(definitions: Definitions, results: Results) -> None:
    """Write docs/experiments.md and its plots from the record.

    Args:
        definitions: all experiments.
        results: the record.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    DOCUMENT.write_text(document(definitions, results), encoding="utf-8")
    for name, result in results.items():
        target = IMAGES / f"{name}.png"
        draw(definitions[name], result, [target])
        shrink(target)
