"""Definitions, contenders and streams of the experiments."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from experiments.contenders import PAPER, contender, contenders
from experiments.definition import Expectation, definition, definitions
from experiments.measures import MEASURES
from experiments.settings import Settings
from experiments.streams import heaviest, named, zipf
from tests.locations import ROOT

KNOWN = definitions()


@pytest.mark.parametrize("name", KNOWN)
def test_definitions_name_existing_measures_and_contenders(name: str) -> None:
    one = KNOWN[name]
    assert one.measure in MEASURES
    others = {"discovery", "2 d", "4 d", "binary", "haar", "square-root", "tree"}
    assert set(one.contenders) <= contenders().keys() | others
    assert len(one.title) > 20
    quick = one.for_quick_run()
    assert set(quick.values) <= set(one.values)
    for entry in one.expect:
        assert math.isfinite(entry.least) or math.isfinite(entry.most), "cannot fail"


def test_the_papers_panels_have_the_papers_settings() -> None:
    panels = {one.panel: one for one in KNOWN.values()}
    assert {"a", "b", "c", "d", "e", "f", "table 1", "heavy hitters"} <= panels.keys()
    for panel in "abcdef":
        one = panels[panel]
        assert set(PAPER) <= set(one.contenders)
        taken = {**one.parameters, one.axis: None}
        assert (taken["delta"], taken["events"], taken["items"]) == (1e-3, 2**20, 2**20)
        assert taken.get("depth", 3) in (3, None)
        assert panel == "a" or taken["top"] == 15
    assert KNOWN["heavy-memory"].parameters["k"] == 256


@pytest.mark.parametrize(
    ("name", "width"),
    [("CMS", 2000), ("LazyCMS", 55), ("LazyCS", 55), ("PunctualCMS", 33), ("ours", 1000)],
)
def test_24_kilobytes_are_the_papers_widths(name: str, width: int) -> None:
    one = contender(name)
    assert one.width(memory=24, depth=3) == width
    assert one.kilobytes(one.width_by, depth=3, width=width) <= 24


def test_a_definition_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "broken.toml"
    text = 'title = "t"\npanel = "p"\nmeasure = "error"\naxis = "x"\nvalues = [1]\n'
    path.write_text(text)
    with pytest.raises(
        ValueError, match=r"^broken.toml: expected contenders, parameters, got none"
    ):
        definition(path)
    path.write_text(text + 'contenders = ["CMS"]\nstrange = 1\n[parameters]\n')
    with pytest.raises(ValueError, match="known keys, got strange"):
        definition(path)
    with pytest.raises(ValueError, match="contender: expected one of CMS"):
        contender("unknown")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "strange"}, "kind: expected one of ratio"),
        ({"series": None}, "slope: expected series, got none"),
        ({"strange": 1}, "slope: expected known keys, got strange"),
        ({"least": None}, "slope: expected least or most, got none"),
        ({"least": "1"}, "least: expected a number, got str"),
        ({"at": [True]}, "at: expected a number or string, got bool"),
    ],
)
def test_an_expectation_is_checked(change: dict[str, object], message: str) -> None:
    entry = {"kind": "slope", "what": "w", "metric": "m", "series": "s", "least": 1, **change}
    with pytest.raises(ValueError, match=message):
        Expectation.of(Settings({key: each for key, each in entry.items() if each is not None}))


def test_the_native_module_is_not_used() -> None:
    for path in (ROOT / "experiments").rglob("*.py"):
        assert "_native" not in path.read_text(encoding="utf-8"), path.name


def test_zipf_follows_its_distribution() -> None:
    """Each count is within six deviations of a binomial; false-alarm rate 2e-9 for 50 items."""
    events = zipf(np.random.default_rng(1), skew=1.3, items=1000, events=200_000)
    weights = np.arange(1, 1001.0) ** -1.3
    shares = weights / weights.sum()
    counts = np.bincount(events, minlength=1000)
    for rank in range(50):
        spread = math.sqrt(len(events) * shares[rank] * (1 - shares[rank]))
        assert abs(counts[rank] - len(events) * shares[rank]) < 6 * spread
    assert heaviest(counts, 15).tolist() == sorted(range(1000), key=lambda i: -counts[i])[:15]


def test_a_file_of_the_user_is_a_stream(tmp_path: Path) -> None:
    words = ["b", "a", "b", "c", "b", "a"] * 100
    path = tmp_path / "words.csv"
    path.write_text("when,word\n" + "".join(f"{at},{word}\n" for at, word in enumerate(words)))
    events = named(f"{path}:word", tmp_path)
    assert Counter(Counter(events.tolist()).values()) == Counter(Counter(words).values())
    assert events[:4].tolist() == [0, 1, 0, 2]
