"""``--plot``: plots of the top items over the stream, and a self-contained page."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from lazysketch.cli import main

NAMES = ["--epsilon", "12", "--names-every", "1000", "--width", "64"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("rows.txt").write_text("a<b>&\n$x_1$\na<b>&\n_hidden\n" * 1_000)
    Path("items.txt").write_text("a<b>&\n$x_1$\nnever\n")
    return tmp_path


@pytest.fixture
def drawing() -> None:
    pytest.importorskip("matplotlib")


@pytest.mark.usefixtures("drawing")
def test_a_png(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):  # the second replaces the first
        assert main(["top", "rows.txt", "--plot", "top.png", *NAMES]) == 0
    assert Path("top.png").read_bytes().startswith(b"\x89PNG")
    assert "plot saved to top.png" in capsys.readouterr().err


@pytest.mark.usefixtures("drawing")
@pytest.mark.parametrize("listed", [False, True])
def test_an_svg_names_the_items_and_the_guarantee(*, listed: bool) -> None:
    source = ["--domain", "items.txt", "--epsilon", "12", "--width", "64"] if listed else NAMES
    assert main(["top", "rows.txt", "--plot", "top.svg", *source]) == 0
    drawn = ElementTree.parse("top.svg")
    words = {"".join(part.itertext()).strip("\u200b\n ") for part in drawn.iter()}
    assert {"a<b>&", "$x_1$", "never" if listed else "_hidden"} <= words
    assert any(word.startswith("(12, 1e-08)-DP per event") for word in words)
    assert "rows.txt: top items with 95 % intervals" in words


@pytest.mark.usefixtures("drawing")
def test_a_page_is_self_contained(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert main(["top", "rows.txt", "--plot", "top.html", *NAMES]) == 0
    page = Path("top.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "<svg" in page
    assert page.count("<tr") == 4
    assert '<td class="item">a&lt;b&gt;&amp;</td>' in page
    assert "<b>" not in page
    assert "(12, 1e-08)-DP per event" in page
    loaded = re.findall(r"<script|<link|<img|<iframe|@import|url\((?!#)", page)
    assert loaded == []


@pytest.mark.usefixtures("drawing")
@pytest.mark.parametrize("name", ["top.png", "top.svg", "top.html"])
def test_no_item_gives_an_empty_plot(name: str) -> None:
    Path("rows.txt").write_text("a\nb\n")
    assert main(["top", "rows.txt", "--plot", name]) == 0
    assert Path(name).stat().st_size > 1_000


@pytest.mark.usefixtures("drawing")
@pytest.mark.parametrize("name", ["other.png", "other.svg", "other.html"])
def test_other_files_are_not_replaced(capsys: pytest.CaptureFixture[str], name: str) -> None:
    Path(name).write_text("<!doctype html>\nprecious")
    assert main(["top", "rows.txt", "--plot", name, *NAMES]) == 2
    captured = capsys.readouterr()
    assert "--plot: expected a new file or a plot of that kind to replace" in captured.err
    assert captured.err.endswith(f"got another kind of file: {name}\n")
    assert captured.out == ""
    assert Path(name).read_text() == "<!doctype html>\nprecious"


def test_without_matplotlib_nothing_is_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["top", "rows.txt", "--plot", "top.png", "--save-release", "r.lzs"]) == 2
    captured = capsys.readouterr()
    assert captured.err == (
        "lazysketch: --plot: expected matplotlib (pip install 'lazysketch[plot]'), got none\n"
    )
    assert captured.out == ""
    assert not Path("r.lzs").exists()
