"""``inspect`` of several releases and ``explain``: what all of them promise, and allow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import lazysketch as ls
from lazysketch.cli import main
from lazysketch.privacy.observer import posterior, right_guesses
from lazysketch.testing import seeded_key

NOISE: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-8}


@pytest.fixture(autouse=True)
def releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[ls.Release]:
    """Two days of heavy hitters; the first of them also an hour later."""
    monkeypatch.chdir(tmp_path)
    days = [ls.HeavyHitters(share=0.05, width=64, hash_seed=1, **NOISE) for _ in range(2)]
    kept = []
    for name, day in (("monday", 0), ("tuesday", 1), ("monday-later", 0)):
        days[day].tick(7)
        kept.append(days[day].release())
        kept[-1].save(f"{name}.lzs")
    return kept


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main([*arguments, "--output", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_inspect_shows_the_run_as_it_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    found = shown(capsys, "inspect", "monday.lzs")
    assert (found["run"]["epsilon"], found["run"]["delta"]) == (1.0, 1e-8)
    assert (found["run"]["names_epsilon"], found["run"]["names_delta"]) == (0.25, 5e-9)
    assert found["parts"][0]["epsilon"] == 0.75
    assert main(["inspect", "monday.lzs"]) == 0
    assert "(1, 1e-08)-DP per event (substitution), of which (0.25, 5e-09) for names" in (
        capsys.readouterr().out
    )


def test_inspect_of_several_counts_each_run_once(
    capsys: pytest.CaptureFixture[str], releases: list[ls.Release]
) -> None:
    files = ["monday.lzs", "tuesday.lzs", "monday-later.lzs"]
    found = shown(capsys, "inspect", *files)
    joint = ls.compose(releases[0], releases[1])
    assert found["composition"]["runs"] == 2
    assert found["composition"]["epsilon"] == joint.epsilon_at(joint.delta)
    assert [row["file"] for row in found["parts"]] == files
    assert main(["inspect", *files]) == 0
    printed = capsys.readouterr().out
    assert printed.count("(1, 1e-08)-DP per event") == 3
    assert "for a person in all streams: mu" in printed


def test_explain_says_what_an_observer_may_conclude(
    capsys: pytest.CaptureFixture[str], releases: list[ls.Release]
) -> None:
    for files, found in ((["monday.lzs"], releases[:1]), (["monday.lzs", "tuesday.lzs"], releases)):
        curve = ls.compose(*found)
        rows = shown(capsys, "explain", *files)["observers"]
        assert [row["before"] for row in rows] == [0.01, 0.1, 0.5, 0.9]
        for row in rows:
            after, right = row["after_at_most"], row["right_guesses_after"]
            assert 0.0 <= after - posterior(curve, prior=row["before"]) <= 1e-4
            assert 0.0 <= right - right_guesses(curve, prior=row["before"]) <= 1e-4
        assert main(["explain", *files]) == 0
        text = capsys.readouterr().out
        assert "undecided whether one event took place is at most" in text
        assert "instead of 50 %" in text


def test_explain_speaks_of_people_where_they_are_bounded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bound = ls.PersonBound(cells=2)
    sketch = ls.LazyCountMin(depth=2, width=16, person_bound=bound, **NOISE)
    sketch.release().save("people.lzs")
    assert main(["explain", "people.lzs"]) == 0
    assert "undecided whether one person took part is at most" in capsys.readouterr().out


def test_the_plot(capsys: pytest.CaptureFixture[str]) -> None:
    for kind, beginning in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        assert main(["explain", "monday.lzs", "--plot", f"o.{kind}"]) == 0
        assert Path(f"o.{kind}").read_bytes().startswith(beginning)
        assert capsys.readouterr().err == f"lazysketch: plot saved to o.{kind}\n"
    assert "impossible for any observer" in Path("o.svg").read_text(encoding="utf-8")


def test_what_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with ls.LazyCountMin(depth=2, width=16, key=seeded_key(1), **NOISE) as sketch:
        sketch.release().save("seeded.lzs")
    bound = ls.PersonBound(cells=2)
    with ls.LazyCountMin(depth=2, width=16, person_bound=bound, **NOISE) as sketch:
        sketch.release().save("people.lzs")
    for arguments, reason in (
        (["seeded.lzs"], "seeded.lzs: expected a release with a guarantee, got one that is NOT"),
        (["monday.lzs", "people.lzs"], "expected releases with one unit and one relation"),
        (["monday.lzs", "--plot", "o.html"], "--plot: expected a file ending in .png or .svg"),
        (["none.lzs"], "none.lzs: expected"),
    ):
        assert main(["explain", *arguments]) != 0
        captured = capsys.readouterr()
        assert reason in captured.err
        assert captured.out == ""
    assert main(["inspect", "monday.lzs", "people.lzs"]) == 0
    assert "no joint guarantee" in capsys.readouterr().out
