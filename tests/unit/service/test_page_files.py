"""The files of the page: all in the installed package, with the licence of the chart library."""

from __future__ import annotations

import re
from collections import Counter
from importlib.metadata import files as files_of_package
from importlib.resources import files

from tests.locations import ROOT

from lazysketch.service.page_file import MODULES

PAGE = "lazysketch/service/page"


def text(name: str) -> str:
    return (files("lazysketch.service") / "page" / name).read_text(encoding="utf-8")


def test_the_installed_package_has_every_file_of_the_page() -> None:
    installed = files_of_package("lazysketch")
    assert installed is not None
    found = {file.name for file in installed if file.parent.as_posix() == PAGE}
    assert found == {file.name for file in (ROOT / "python" / PAGE).iterdir()}
    assert {"index.html", "uplot.js", "LICENSE-uplot.txt", *MODULES} <= found


def test_the_page_names_all_of_its_files() -> None:
    named = set(re.findall(r'(?:src|href)="/assets/([^"]+)"', text("index.html")))
    imported = {
        name for module in MODULES for name in re.findall(r'from "\./([^"]+)"', text(module))
    }
    folder = files("lazysketch.service") / "page"
    present = {file.name for file in folder.iterdir()}
    assert named | imported | {"uplot.js", "index.html", "LICENSE-uplot.txt"} == present
    assert set(MODULES) == {name for name in present if name.endswith(".js")} - {
        "theme.js",
        "uplot.js",
    }


def test_the_library_comes_with_its_licence() -> None:
    licence = text("LICENSE-uplot.txt")
    assert licence.startswith("The MIT License")
    assert "Leon Sorokin" in licence
    assert re.search(r"uPlot \(v\d+\.\d+\.\d+\)", text("uplot.js")[:200])


def test_no_two_modules_define_a_name() -> None:
    """In a page that is one file all modules are one."""
    defined = re.compile(
        r"^(?:export )?(?:async )?(?:class|const|function|let) (\w+)", re.MULTILINE
    )
    found = Counter(name for module in MODULES for name in defined.findall(text(module)))
    assert len(found) > 100
    assert [name for name, times in found.items() if times > 1] == []
