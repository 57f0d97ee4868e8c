"""Pages of the site that are not in docs/: its front page, the notebook, and the Python reference.

mkdocs calls the two functions (``hooks`` in mkdocs.yml).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from tools.executed_notebook import page_of

import lazysketch

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

__all__ = ["PAGES", "followed", "on_files", "on_page_markdown", "reference"]

_ROOT = Path(__file__).resolve().parents[1]
_SOURCE = "https://github.com/lazysketch/lazysketch/blob/main/"
_CODE = re.compile(r"`[^`]+`")
_IMAGES = "https://raw.githubusercontent.com/lazysketch/lazysketch/main/docs/"

# The pages of the reference: the title and the names.
PAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "sketches": (
        "Sketches",
        (
            "LazyCountMin",
            "LazyCountSketch",
            "PunctualCountMin",
            "PunctualCountSketch",
            "CountMin",
            "CountSketch",
            "ContinualCounters",
            "DistinctCount",
            "Distribution",
            "Sums",
            "SumsSpec",
            "Ranges",
            "Key",
        ),
    ),
    "releases": (
        "Releases",
        (
            "Release",
            "DistinctRelease",
            "DistributionRelease",
            "SumsRelease",
            "ItemSum",
            "RangesRelease",
            "ReleasePart",
            "Interval",
            "Intervals",
            "Moment",
        ),
    ),
    "heavy-hitters": (
        "Heavy hitters",
        (
            "HeavyHitters",
            "HeavyHitter",
            "HeavyItems",
            "HierarchicalHeavyHitters",
            "HeavyLevel",
            "HierarchyNode",
            "HierarchyNodes",
            "Levels",
            "ipv4_prefixes",
            "ipv6_prefixes",
            "dns_names",
            "url_paths",
        ),
    ),
    "windows": (
        "Windows of time",
        (
            "Windows",
            "Sliding",
            "HierarchicalWindows",
            "DistinctWindows",
            "DistributionWindows",
            "RangesWindows",
            "SumsWindows",
            "Window",
            "ReleasedWindow",
            "WindowsOfLevel",
            "Change",
            "Changes",
            "Alerts",
            "AlertRule",
            "Alert",
            "FiredAlerts",
        ),
    ),
    "pipelines": ("Pipelines", ("Pipeline", "Part", "PrivacyShare")),
    "descriptions": (
        "Descriptions and guarantees",
        (
            "TableSpec",
            "HeavyHittersSpec",
            "DiscoverySpec",
            "PersonBound",
            "Bins",
            "Batch",
            "Geometric",
            "Punctual",
            "RoundRobin",
            "Single",
            "Mechanism",
            "Privacy",
            "JointPrivacy",
            "LevelsPrivacy",
            "Composition",
            "compose",
        ),
    ),
    "planning": (
        "Planning",
        (
            *("plan", "Plan", "Prediction", "plan_distinct", "DistinctPlan"),
            *("plan_distribution", "DistributionPlan"),
            *("plan_sums", "SumsPlan", "clip_bounds", "ClipBounds"),
            *("plan_ranges", "RangesPlan"),
        ),
    ),
    "stores": (
        "Stores and ledgers",
        (
            "open_store",
            "Store",
            "PeriodicSaves",
            "ReleasesOnly",
            "NO_ANCHOR",
            "PartialCounts",
            "Ledger",
        ),
    ),
    "errors": ("Errors", ("LazySketchError",)),
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the front page and the reference."""
    from mkdocs.structure.files import File

    missing = set(lazysketch.__all__) - {name for _, names in PAGES.values() for name in names}
    if missing != {"__version__"}:
        raise ValueError(f"PAGES: expected all names but __version__, missing are {missing}")
    pages = {f"reference/{page}.md": reference(*told) for page, told in PAGES.items()}
    readme = (_ROOT / "README.md").read_text(encoding="utf-8")
    pages |= {"index.md": readme, "reference/index.md": _contents(), "first-look.md": _notebook()}
    for uri, text in pages.items():
        files.append(File.generated(config, uri, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to pages of the site, and those out of docs/ to the source."""
    del page, config, files
    return followed(markdown)


def followed(markdown: str) -> str:
    """Return text as the site shows it: links lead to its pages, or else to the source."""
    markdown = markdown.replace(_SOURCE + "docs/", "").replace(_IMAGES, "")
    markdown = re.sub(r"\]\(\.\./", f"]({_SOURCE}", markdown)
    # In a table a bar inside code is escaped; this renderer shows the backslash, and needs none.
    return re.sub(r"^\|.*$", lambda row: _CODE.sub(_without_escapes, row[0]), markdown, flags=re.M)


def _without_escapes(code: re.Match[str]) -> str:
    return code[0].replace(r"\|", "|")


def _notebook() -> str:
    path = _ROOT / "examples" / "first_look.ipynb"
    return page_of(json.loads(path.read_text(encoding="utf-8")))


def _contents() -> str:
    rows = [
        f"- [{title}]({page}.md): {', '.join(f'`{name}`' for name in names)}"
        for page, (title, names) in PAGES.items()
    ]
    return (
        "# Python\n\nEverything here is in the package `lazysketch`.\n\n" + "\n".join(rows) + "\n"
    )


def reference(title: str, names: tuple[str, ...]) -> str:
    """Return a page on which mkdocstrings writes the docstrings of some public names."""
    parts = [f"# {title}\n"]
    for name in names:
        value = getattr(lazysketch, name)
        module = getattr(value, "__module__", None)
        path = f"{module}.{name}" if module and module != "builtins" else f"lazysketch.{name}"
        parts.append(f"::: {path}\n    options:\n      heading: {name}\n      heading_level: 2\n")
    return "\n".join(parts)
