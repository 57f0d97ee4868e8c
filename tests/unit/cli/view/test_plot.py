"""``--plot``: plots of the top items over the stream, and the page with the data inside."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

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


def data_inside(path: str) -> Any:
    """Return what a page shows."""
    page = Path(path).read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="overview">(.*?)</script>', page)
    assert found is not None
    return json.loads(found[1])


def test_a_page_fetches_nothing_and_names_no_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # it needs none
    for _ in range(2):  # the second replaces the first
        assert main(["top", str(folder / "rows.txt"), "--plot", "top.html", *NAMES]) == 0
    page = Path("top.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert str(folder) not in page
    assert "a<b>&" not in page
    assert "Permission is hereby granted" in page  # the licence of the chart library
    loaded = re.findall(r"""(?:src|href)=["'](?!data:|#)|@import|<iframe|rel="style""", page)
    assert loaded == []
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert "unsafe" not in policy[1]
    assert "default-src 'none'" in policy[1]
    assert "connect-src" not in policy[1]


@pytest.mark.parametrize("listed", [False, True])
def test_the_page_of_a_run_has_its_result(
    capsys: pytest.CaptureFixture[str], *, listed: bool
) -> None:
    source = ["--domain", "items.txt", "--epsilon", "12", "--width", "64"] if listed else NAMES
    command = ["top", "rows.txt", "--plot", "top.html", "--output", "json", *source]
    assert main(command) == 0
    result, shown = json.loads(capsys.readouterr().out), data_inside("top.html")
    assert [
        (one["item"], one["estimate"], one["low"], one["high"], one["share"])
        for one in shown["items"]
    ] == [
        (row["item"], row["estimate"], row["low"], row["high"], row["share"])
        for row in result["items"]
    ]
    facts = shown["facts"]
    assert facts["title"] == "Top items of rows.txt"
    assert (facts["epsilon"], facts["delta"], facts["private"]) == (12, 1e-8, True)
    assert facts["guarantee"].startswith("An observer who reads everything ever published")
    assert facts["listed"] is listed
    ends = [window["end"] for window in facts["windows"]]
    assert ends == sorted(set(ends))
    assert (ends[-1], shown["total"]["estimate"]) == (4_000, 4_000)
    for one in shown["items"]:
        assert len(one["course"]) == len(ends)
        assert abs(one["course"][-1]["estimate"] - one["estimate"]) < 100


def test_the_page_of_windows_has_their_courses_and_changes() -> None:
    Path("rows.txt").write_text("a\nb\n" * 4_000 + "b\n" * 8_000)
    assert (
        main(["top", "rows.txt", "--window", "8000", "--plot", "top.html", "--epsilon", "12"]) == 0
    )
    shown = data_inside("top.html")
    windows = shown["facts"]["windows"]
    assert [(one["begin"], one["end"], one["whole"]) for one in windows] == [
        (0, 8_000, True),
        (8_000, 16_000, True),
    ]
    courses = {one["item"]: [at["estimate"] for at in one["course"]] for one in shown["items"]}
    for item, truth in {"a": (4_000, 0), "b": (4_000, 8_000)}.items():
        assert courses[item] == pytest.approx(truth, abs=400)
    assert {one["item"]: one["after"] > one["before"] for one in shown["changes"]} == {
        "a": False,
        "b": True,
    }


def test_a_page_needs_no_package_of_the_service() -> None:
    script = (
        "import sys\n"
        "for name in ('starlette', 'uvicorn', 'cryptography', 'prometheus_client', 'matplotlib'):\n"
        "    sys.modules[name] = None\n"
        "from lazysketch.cli import main\n"
        "sys.exit(main(['top', 'rows.txt', '--plot', 'top.html']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert data_inside("top.html")["facts"]["finished"] is True


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
