"""The site: every public name has a place, and links lead where they can be followed."""

from __future__ import annotations

from importlib import import_module

from tests.locations import ROOT
from tools import site_pages

import lazysketch


def test_every_public_name_is_on_one_page() -> None:
    names = [name for _, names in site_pages.PAGES.values() for name in names]
    assert sorted([*names, "__version__"]) == sorted(lazysketch.__all__)


def test_names_of_the_reference_are_where_it_looks_for_them() -> None:
    for page, (title, names) in site_pages.PAGES.items():
        text = site_pages.reference(title, names)
        found = [line.removeprefix("::: ") for line in text.splitlines() if line.startswith(":::")]
        assert len(found) == len(names), page
        for path, name in zip(found, names, strict=True):
            module, _, last = path.rpartition(".")
            assert last == name
            assert getattr(import_module(module), name) is getattr(lazysketch, name)


def test_links_lead_to_pages_or_to_the_source() -> None:
    source = "https://github.com/lazysketch/lazysketch/blob/main"
    for given, expected in {
        f"[a]({source}/docs/cli.md#exit-status)": "[a](cli.md#exit-status)",
        f"[a]({source}/SECURITY.md)": f"[a]({source}/SECURITY.md)",
        "[a](../NOTATION.md#terms)": f"[a]({source}/NOTATION.md#terms)",
        "[a](windows.md)": "[a](windows.md)",
    }.items():
        assert site_pages.followed(given) == expected


def test_bars_in_tables_are_shown_without_a_backslash() -> None:
    for given, expected in {
        r"| `\|` | `a \| b` |": "| `|` | `a | b` |",
        r"| a \| b | c |": r"| a \| b | c |",
        r"`a \| b` in a sentence": r"`a \| b` in a sentence",
    }.items():
        assert site_pages.followed(given) == expected


def test_every_page_of_the_documents_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [path.name for path in (ROOT / "docs").glob("*.md")]
    assert len(pages) > 20
    for page in [*pages, *(f"reference/{page}.md" for page in site_pages.PAGES)]:
        assert text.count(f" {page}\n") == 1, page
