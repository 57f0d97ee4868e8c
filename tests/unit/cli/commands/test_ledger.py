"""``lazysketch ledger``, and runs that are charged to one."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.cli.reminder import REMINDER

from lazysketch import Key
from lazysketch.cli import main
from lazysketch.cli.run.charging import Charging
from lazysketch.store import anchor_of

PLOTS = importlib.util.find_spec("matplotlib") is not None


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "keys"))
    Path("rows.txt").write_text("a\nb\na\n" * 50, encoding="utf-8")
    Path("items.txt").write_text("a\nb\n", encoding="utf-8")
    return tmp_path


def init(*more: str) -> None:
    terms = ["--population", "visitors", "--epsilon", "4", "--delta", "1e-6", *more]
    assert main(["ledger", "init", "people.db", *terms]) == 0


ESTIMATE = ("estimate", "rows.txt", "--items", "items.txt", "--epsilon", "0.5")
CHARGED = ("--ledger", "people.db", "--population", "visitors")


def estimate(*more: str) -> int:
    return main([*ESTIMATE, *more])


def shown(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    capsys.readouterr()
    assert main(["ledger", "show", "people.db", "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def runs(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    found = shown(capsys)["runs"]
    assert isinstance(found, list)
    return found


def test_runs_are_charged_and_closed(capsys: pytest.CaptureFixture[str]) -> None:
    init("--period", "1y")
    assert estimate(*CHARGED) == 0
    assert main(["top", "rows.txt", "--epsilon", "0.25", *CHARGED]) == 0
    assert "run 2 charged" in capsys.readouterr().err
    found = shown(capsys)
    assert found["runs_in_period"] == 2
    entries = found["runs"]
    assert isinstance(entries, list)
    assert [entry["epsilon"] for entry in entries] == [0.5, 0.25]
    assert all(entry["closed"] is not None for entry in entries)
    assert "rows.txt" in entries[0]["note"]
    assert main(["ledger", "show", "people.db"]) == 0
    text = capsys.readouterr().out
    assert "2 runs spent epsilon" in text
    assert "more runs like the last one fit" in text


def test_a_run_beyond_the_cap_is_refused_before_it_reads(
    capsys: pytest.CaptureFixture[str],
) -> None:
    init()
    assert estimate(*CHARGED) == 0
    capsys.readouterr()
    more = ("--epsilon", "8", "--save-release", "out.lzs")
    assert estimate(*CHARGED, *more) == 2
    refused = capsys.readouterr()
    assert refused.out == ""
    assert "cap: refused, nothing was read: expected a run within (4, 1e-06)-DP per event" in (
        refused.err
    )
    assert "the limit that binds is the sum of mu squared" in refused.err
    assert all(word in refused.err for word in ("asked mu", "spent mu", "cap mu", "rest mu"))
    assert not Path("out.lzs").exists()
    assert len(runs(capsys)) == 1


def test_the_units_of_a_ledger_and_of_a_run_are_said_together(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The total protects a person in a period, a run protects a person from begin to end."""
    init("--unit", "person", "--period", "1y")
    Path("rows.csv").write_text("page,client\n" + "a,x\nb,y\n" * 50, encoding="utf-8")
    of_people = ["rows.csv", "--by", "page", "--user", "client", "--cells", "2"]
    run = ["estimate", *of_people, "--items", "items.txt", "--epsilon", "0.5", *CHARGED]
    capsys.readouterr()
    assert main(run) == 0
    said = capsys.readouterr()
    assert "(0.5, 1e-08)-DP per person, of whom 1 event in each of 2 cells" in said.out
    assert (
        "people.db: its total protects what is counted of a person within one period of 1y, over "
        "all runs that are charged; the guarantee in the result is that of this run alone, from "
        "its beginning to its end"
    ) in said.err
    assert main(["ledger", "show", "people.db"]) == 0
    assert "at most (4, 1e-06)-DP per person within 1y" in capsys.readouterr().out
    # A run that protects events does not go into it.
    assert estimate(*CHARGED) == 2
    assert "expected a run that protects a person" in capsys.readouterr().err


def test_wrong_places_and_keys_say_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    init()
    Key.generate().to_file("other.key")
    capsys.readouterr()
    assert main(["ledger", "show", "people.db", "--key-file", "other.key"]) == 2
    assert "the key belongs to another ledger, or its file was changed" in capsys.readouterr().err
    assert estimate(*CHARGED, "--key-file", "other.key") == 2
    assert "the key of a ledger is --ledger-key-file" in capsys.readouterr().err
    again = ["--population", "visitors", "--epsilon", "4", "--delta", "1e-6"]
    assert main(["ledger", "init", "people.db", *again]) == 2
    assert "expected a directory without a ledger, got people.db" in capsys.readouterr().err
    assert estimate(*CHARGED) == 0
    capsys.readouterr()
    assert main(["ledger", "show", "people.db"]) == 0
    assert "squares of mu add up" in capsys.readouterr().out


def test_a_state_is_charged_once_and_stays_open(capsys: pytest.CaptureFixture[str]) -> None:
    init()
    for _ in range(2):
        assert estimate(*CHARGED, "--state", "visits.state") == 0
    assert "goes on, charged before" in capsys.readouterr().err
    assert [run["closed"] for run in runs(capsys)] == [None]
    assert estimate(*CHARGED, "--state", "visits.state", "--finish") == 0
    assert [run["closed"] is None for run in runs(capsys)] == [False]


# Killed where the first row would be read.
KILLED = """
import os, signal, sys
import lazysketch.cli.run.controller as controller
from lazysketch.cli import main
from lazysketch.cli.run.charging import Charging
from lazysketch.store import anchor_of

controller.feed = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
main(sys.argv[1:])
"""


def test_a_run_that_is_killed_after_its_charge_stays_spent_and_open(
    capsys: pytest.CaptureFixture[str],
) -> None:
    init()
    for state in ((), ("--state", "visits.state")):
        for _ in range(2):
            words = [*ESTIMATE, *CHARGED, *state]
            killed = subprocess.run(
                [sys.executable, "-c", KILLED, *words], capture_output=True, check=False
            )
            assert killed.returncode == -signal.SIGKILL, killed.stderr
    # Two runs without a state, and one with it, which the retry goes on with.
    assert [run["closed"] for run in runs(capsys)] == [None, None, None]
    assert estimate(*CHARGED, "--state", "visits.state") == 0
    assert main(["ledger", "close", "people.db", "1"]) == 0
    assert [run["closed"] is None for run in runs(capsys)] == [False, True, True]


def test_a_new_era_of_a_state_is_charged_anew(capsys: pytest.CaptureFixture[str]) -> None:
    init()
    kept = (*CHARGED, "--state", "visits.state")
    assert estimate(*kept) == 0
    anchor_of("visits.state").unlink()
    assert estimate(*kept) == 2
    assert len(runs(capsys)) == 1
    assert estimate(*kept, "--new-era") == 0
    assert len(runs(capsys)) == 2


def test_a_state_that_has_ended_is_not_charged_again(capsys: pytest.CaptureFixture[str]) -> None:
    init()
    kept = (*CHARGED, "--state", "visits.state")
    assert estimate(*kept, "--finish") == 0
    assert estimate(*kept) == 0
    assert "nothing is charged, since nothing is counted" in capsys.readouterr().err
    (run,) = runs(capsys)
    assert run["closed"] is not None


def test_a_run_that_is_closed_late_is_closed_by_the_next(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run is cut off between the end of the stream and that of its entry."""
    init()
    kept = (*CHARGED, "--state", "visits.state")
    with monkeypatch.context() as patch:
        patch.setattr(Charging, "end", lambda _: None)
        assert estimate(*kept, "--finish") == 0
    assert [run["closed"] for run in runs(capsys)] == [None]
    assert estimate(*kept) == 0
    assert [run["closed"] is None for run in runs(capsys)] == [False]


def test_a_stream_that_did_not_end_stays_open(capsys: pytest.CaptureFixture[str]) -> None:
    """A strict run fails before the end that --finish asks for; the next one goes on."""
    init()
    Path("rows.csv").write_text("item\na\nb\n", encoding="utf-8")
    words = ["estimate", "rows.csv", "--field", "item", "--items", "items.txt", *CHARGED]
    kept = [*words, "--state", "visits.state", "--finish", "--strict"]
    with Path("rows.csv").open("a", encoding="utf-8") as file:
        file.write("a,b\nb\n")
    assert main(kept) == 2
    assert [run["closed"] for run in runs(capsys)] == [None]
    assert main(kept[:-1]) == 0
    assert [run["closed"] is None for run in runs(capsys)] == [False]


def test_what_is_refused_is_not_charged(capsys: pytest.CaptureFixture[str]) -> None:
    init()
    assert estimate("--save-release", "old.lzs") == 0
    kept = (*CHARGED, "--state", "visits.state", "--save-release", "old.lzs")
    assert estimate(*kept) == 2
    assert "--save-release: expected" in capsys.readouterr().err
    assert runs(capsys) == []


def test_runs_go_on_at_the_same_time(capsys: pytest.CaptureFixture[str]) -> None:
    """The ledger is open for the charge and for the end only."""
    init()
    words = [*ESTIMATE, *CHARGED]
    words[1] = "-"
    command = [sys.executable, "-m", "lazysketch", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        assert b"run 1 charged" in process.stderr.readline()
        assert estimate(*CHARGED) == 0
        process.stdin.write(b"a\n")
        process.stdin.close()
        process.stderr.read()
    assert process.returncode == 0
    assert [run["closed"] is None for run in runs(capsys)] == [False, False]


def test_without_a_ledger_a_run_over_files_says_that_runs_add_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert estimate() == 0
    assert capsys.readouterr().err == REMINDER
    init()
    capsys.readouterr()
    assert estimate(*CHARGED) == 0
    assert "other runs" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--ledger", "people.db"),
            "--population: expected the name of the people whom the ledger is for, got none",
        ),
        (("--population", "visitors"), "--population: expected --ledger too, got none"),
        (("--ledger", "people.db", "--population", "x"), "--population: expected 'visitors'"),
        (("--ledger", "none.db", "--population", "x"), "--ledger: expected a ledger, got none"),
        (
            (*CHARGED, "--ledger-key-file", "none.key"),
            "--ledger-key-file: expected the key of people.db, none.key, got none",
        ),
        (
            (*CHARGED, "--ledger-key-file", "other.key"),
            "--ledger-key-file: expected the key ",
        ),
        (
            (*CHARGED, "--ledger-anchor", "none.anchor"),
            "--ledger-anchor: expected the anchor of this ledger, none.anchor, got none",
        ),
        ((*CHARGED, "--relation", "zero-out"), "--relation: expected 'substitution'"),
    ],
)
def test_wrong_uses_are_one_line(
    capsys: pytest.CaptureFixture[str], options: tuple[str, ...], message: str
) -> None:
    init()
    Key.generate().to_file("other.key")
    capsys.readouterr()
    assert estimate(*options) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert runs(capsys) == []


def test_a_ledger_of_persons_refuses_runs_for_events(capsys: pytest.CaptureFixture[str]) -> None:
    init("--unit", "person")
    assert estimate(*CHARGED) == 2
    assert "got one that protects single events" in capsys.readouterr().err
    Path("visits.csv").write_text("who,what\n" + "x,a\ny,b\n" * 50, encoding="utf-8")
    visits = ["visits.csv", "--by", "what", *CHARGED, "--user", "who", "--cells", "2"]
    assert main(["top", *visits, "--epsilon", "0.1", "--delta", "1e-9"]) == 0
    assert main(["estimate", *visits, "--epsilon", "0.1", "--items", "items.txt"]) == 0
    assert [run["epsilon"] for run in runs(capsys)] == [0.1, 0.1]


@pytest.mark.skipif(not PLOTS, reason="needs matplotlib")
def test_what_was_spent_is_plotted(capsys: pytest.CaptureFixture[str]) -> None:
    init("--period", "1y")
    assert estimate(*CHARGED) == 0
    show = ["ledger", "show", "people.db", "--plot"]
    for _ in range(2):  # a plot replaces a plot
        assert main([*show, "spent.svg"]) == 0
        assert "plot saved to spent.svg" in capsys.readouterr().err
        assert "<svg" in Path("spent.svg").read_text(encoding="utf-8")
    for path, message in (
        ("spent.txt", "expected a file ending in one of .png, .svg, got"),
        ("spent.html", "expected a file ending in one of .png, .svg, got"),
        ("other.png", "--plot: expected"),
    ):
        Path("other.png").write_text("not a plot", encoding="utf-8")
        assert main([*show, path]) == 2
        assert message in capsys.readouterr().err
    assert Path("other.png").read_text(encoding="utf-8") == "not a plot"
