"""States: what the first run defines for all later ones, and what goes on in doubt."""

from __future__ import annotations

import json
import shutil

from tests.unit.cli.run.test_states import SMALL, Runs, runs

__all__ = ["runs"]  # the fixture


def access(paths: range) -> str:
    line = '192.0.2.{} - - [17/May/2026:12:00:00 +0000] "GET /{} HTTP/1.1" 200 5 "-" "agent"\n'
    return "".join(line.format(n % 5, n % 3) for n in paths)


def test_what_is_counted_is_that_of_the_first_run(runs: Runs) -> None:
    """The first run names format and field; later ones count the same, or are refused."""
    runs.items.write_text("/0\n/1\n/2\n192.0.2.1\n")
    runs.log.write_text(access(range(300)))
    runs.estimate("a", *SMALL, "--format", "combined", "--by", "path")
    runs.copy("a", "b")
    with runs.log.open("a") as file:
        file.write(access(range(300)))
    assert runs.estimate("a") == runs.estimate("b", "--format", "combined", "--by", "path")
    for options, words in {
        ("--by", "host"): "--by: expected 'path', as in the first run with a, got 'host'",
        ("--format", "common"): "--format: expected 'combined', as in the first run with a, got",
        ("--encoding", "latin-1"): "--encoding: expected 'utf-8', as in the first run with a",
    }.items():
        runs.estimate("a", *options, status=2)
        assert words in runs.said
        assert len(runs.said.splitlines()) == 1
    shown = json.loads(runs.run("state", "a", *runs.place("a")[2:], "--output", "json"))
    assert (shown["options"]["field"], shown["options"]["format"]) == ("path", "combined")


def test_a_field_that_was_guessed_is_kept(runs: Runs) -> None:
    runs.log.write_text("")
    nothing = ["estimate", "log", "--items", "items.txt", *runs.place("a"), *SMALL]
    assert runs.run(*nothing) == ""  # and nothing to guess by
    runs.log.write_text(access(range(50)))
    other = runs.folder / "other"
    other.write_text("whole\nlines\n")
    runs.estimate("a")
    runs.estimate("a", "--by", "path", status=2)
    assert "--by: expected 'host', as in the first run with a, got 'path'" in runs.said
    runs.estimate("a", other, status=2)
    assert "expected rows with a field 'host', got lines of text" in runs.said
    assert runs.estimate("a", "--by", "host", "--format", "combined")[1] == 50
    # Lines first: a log that would be counted by host then has lines too.
    runs.run("estimate", other, "--items", "items.txt", *runs.place("b"), *SMALL)
    assert runs.estimate("b")[1] == 52
    runs.estimate("b", "--by", "host", status=2)
    assert "--by: expected none, as in the first run with b, got 'host'" in runs.said
    # Two kinds in one run: refused as soon as the second one is seen.
    runs.run("estimate", other, runs.log, "--items", "items.txt", *runs.place("c"), status=2)
    assert "log: expected to count whole lines, as everything in c, got 'host'" in runs.said


def test_no_advice_on_options_that_are_fixed(runs: Runs) -> None:
    runs.add(range(3_000))
    advice = "in the next period of the stream"
    runs.run("top", "log", "--output", "csv", "--width", "512", "--epsilon", "4", "--live")
    assert f"to discover more {advice}: " in runs.said
    runs.run("top", "log", "--output", "csv", *runs.place("a"), "--width", "512", "--epsilon", "4")
    assert "counts lag by up to" in runs.said
    assert "detection threshold" in runs.said
    assert advice not in runs.said
    assert "--" not in runs.said


def test_an_older_copy_goes_on_in_a_new_era(runs: Runs) -> None:
    runs.add(range(400))
    first = runs.estimate("a", *SMALL)
    shutil.copytree(runs.folder / "a", runs.folder / "copy")
    runs.add(range(30))
    runs.estimate("a")
    one = json.loads(runs.run("state", "a", *runs.place("a")[2:], "--output", "json"))
    shutil.rmtree(runs.folder / "a")
    (runs.folder / "copy").rename(runs.folder / "a")
    for words in (["estimate", "log", "--items", "items.txt", "--state", "a"], ["state", "a"]):
        runs.run(*words, *runs.place("a")[2:], status=2)
        assert "got one that is older than its anchor" in runs.said
        assert "go on with --new-era: with fresh noise, whose cost is added" in runs.said
    runs.add(range(400))
    found = runs.estimate("a", "--new-era")
    assert found[1] == 430  # all rows that the copy does not know
    assert found[0] != first[0]
    assert "a: 2 eras, which spend" in runs.said
    both = json.loads(runs.run("state", "a", *runs.place("a")[2:], "--output", "json"))
    assert (one["eras"], both["eras"]) == (1, 2)
    assert both["epsilon"] > one["epsilon"]
    assert runs.estimate("a", "--new-era") == found  # no doubt: the same era goes on
    assert "a: 2 eras" in runs.said
