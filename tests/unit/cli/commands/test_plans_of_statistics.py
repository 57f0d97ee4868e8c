"""``lazysketch plan --of distinct`` and ``--of values``: what the library plans, in words."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

import lazysketch as ls
from lazysketch.cli import main


def planned(capsys: pytest.CaptureFixture[str], words: str) -> dict[str, Any]:
    assert main(["plan", *shlex.split(words), "--output", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_count_of_distinct_items(capsys: pytest.CaptureFixture[str]) -> None:
    wanted: Any = {"items": 20_000, "steps": 10**6, "epsilon": 1.0, "delta": 1e-8}
    found = planned(capsys, "--of distinct --distinct 2e4 --steps 1e6 --error 6%")
    same = ls.plan_distinct(**wanted, relative_error=0.06)
    assert (found["bits"], found["levels"]) == (same.bits, same.levels)
    assert found["relative_error"] == same.relative_error <= 0.06
    assert found["errors"][0]["relative_error"] == same.relative_error
    assert (
        found["options"] == f"--bits {same.bits} --levels {same.levels} --epsilon 1 --delta 1e-08"
    )
    small = planned(capsys, "--of distinct --distinct 2e4 --rate 100/s --for 10000s --memory 2KB")
    assert small["memory"] <= 2_048
    assert small["steps"] == 10**6
    ended = planned(capsys, "--of distinct --distinct 2e4 --steps 1e6 --reads end")
    assert ended["schedule"] == "single"
    limited = planned(capsys, "--of distinct --distinct 2e4 --horizon 1e6 --relation zero-out")
    assert limited["options"].endswith("--relation zero-out --horizon 1000000")


def test_a_distribution_of_values(capsys: pytest.CaptureFixture[str]) -> None:
    found = planned(capsys, "--of values --steps 1e6 --bins 256 --epsilon 0.5")
    bins = ls.Bins.linear(0, 1, number=254)
    same = ls.plan_distribution(bins=bins, values=10**6, epsilon=0.5, delta=1e-8)
    assert found["rank_error"] == same.rank_error
    assert found["standard_error"] == same.standard_error
    assert found["options"].startswith("--bins 256 --epsilon 0.5 --delta 1e-08")
    people = planned(capsys, "--of values --horizon 1e6 --max-events-per-user 4 --reads end")
    assert "--max-events-per-user 4" in people["options"]
    assert (people["schedule"], people["bins"]) == ("single", 1024)
    assert main(shlex.split("plan --of values --steps 1e6")) == 0
    assert "in ranks; the width of a bin comes on top" in capsys.readouterr().out


def test_sums_by_item(capsys: pytest.CaptureFixture[str]) -> None:
    found = planned(capsys, "--of sums --steps 1e6 --low 0 --high 1500 --share 2% --distinct 1e4")
    options: dict[str, Any] = {"low": 0, "high": 1500, "epsilon": 1.0, "delta": 1e-8}
    same = ls.plan_sums(steps=10**6, share=0.02, distinct=10_000, **options)
    assert [row["error"] for row in found["errors"]] == [
        *(round(same.sum_error, 1), round(same.count_error, 1), round(same.mean_error, 1))
    ]
    assert found["errors"][0]["relative_error"] == same.sum_error / (20_000 * 750)
    shown = "--low 0 --high 1500 --depth 5 --width 1024 --epsilon 1 --delta 1e-08"
    assert found["options"] == shown
    ended = planned(capsys, "--of sums --steps 1e6 --low -1 --high 1 --width 256 --reads end")
    assert ended["schedule"] == "single"
    assert ended["errors"][0]["relative_error"] is None
    mean = ended["errors"][2]["error"]
    assert mean == pytest.approx(ended["mean_error"], rel=5e-3)
    assert len(str(mean)) <= len("0.00123")


def test_ranges_of_keys(capsys: pytest.CaptureFixture[str]) -> None:
    found = planned(capsys, "--of ranges --horizon 1e6 --bits 24 --width 512 --prefix 8")
    same = ls.plan_ranges(
        keys=10**6, bits=24, width=512, prefix=8, horizon=10**6, epsilon=1.0, delta=1e-8
    )
    for name in ("standard_error", "prefix_error", "total_error", "half_width", "memory"):
        assert found[name] == getattr(same, name)
    assert [row["part"] for row in found["errors"]] == [
        *("range, interval", "range", "network /8", "all keys")
    ]
    assert found["options"].startswith("--bits 24 --width 512 --epsilon 1 --delta 1e-08")
    people = planned(capsys, "--of ranges --steps 1e6 --max-events-per-user 4 --reads end")
    assert people["options"].endswith("--max-events-per-user 4")
    assert (people["schedule"], people["prefix"], people["bits"]) == ("single", 16, 32)


def test_weights_of_ranges(capsys: pytest.CaptureFixture[str]) -> None:
    """Noise grows with the largest weight; what collides with the mean too."""
    words = "--of ranges --horizon 1e6 --bits 24"
    plain, heavy = (planned(capsys, f"{words}{more}") for more in ("", " --max-weight 1500"))
    same = ls.plan_ranges(
        keys=10**6,
        bits=24,
        horizon=10**6,
        epsilon=1.0,
        delta=1e-8,
        max_weight=1500,
        mean_weight=400.0,
    )
    light = planned(capsys, f"{words} --max-weight 1500 --mean-weight 400")
    for name in ("standard_error", "prefix_error", "total_error", "half_width", "max_weight"):
        assert light[name] == getattr(same, name, 1500)
    assert light["standard_error"] < heavy["standard_error"]
    for name in ("standard_error", "total_error"):
        # The rows that are as good as possible do not fit so much noise.
        assert 1500 * plain[name] <= heavy[name] < 1.25 * 1500 * plain[name]
    shares = [row["relative_error"] for row in light["errors"]]
    assert shares[1] == pytest.approx(same.standard_error / 400e6)
    assert shares[3] == pytest.approx(same.total_error / 400e6)
    assert heavy["errors"][1]["relative_error"] == heavy["standard_error"] / 1500e6
    shown = "--bits 24 --width 4096 --weight FIELD --max-weight 1500 --epsilon 1"
    assert light["options"].startswith(shown)
    assert main(shlex.split(f"plan {words} --max-weight 1500 --mean-weight 400")) == 0
    assert "in weights of 400,000,000 in all" in capsys.readouterr().out


@pytest.mark.parametrize("of", ["values", "ranges"])
def test_people_of_values_and_of_ranges(of: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Ten values or keys of each have ten times the noise of one event, or some more."""
    words = f"--of {of} --steps 1e6 --relation zero-out"
    one, ten = (planned(capsys, f"{words}{more}") for more in ("", " --per-person 10"))
    part = "standard_error" if of == "values" else "total_error"
    # Rows over bins that are as good as possible do not fit so much noise over any number of steps.
    assert 9.8 * one[part] < ten[part] < (11.5 if of == "values" else 10.2) * one[part]
    assert "--relation zero-out --user FIELD --per-person 10" in ten["options"]
    few = planned(capsys, f"{words} --per-person 10 --most-people 99")
    assert 1.96 * ten[part] < few[part] < 2.3 * ten[part]
    assert "--per-person 10 --most-people 99" in few["options"]


def test_people_of_sums(capsys: pytest.CaptureFixture[str]) -> None:
    """Of 4 cells with three events each: sqrt(4) * 3 times the noise of an event."""
    words = "--of sums --horizon 1e6 --low 0 --high 1500 --share 2% --delta 1e-6"
    bound = ls.PersonBound(cells=4, events=3)
    options: dict[str, Any] = {
        "low": 0,
        "high": 1500,
        "epsilon": 1.0,
        "delta": 1e-6,
        "horizon": 10**6,
    }
    same = ls.plan_sums(steps=10**6, share=0.02, person_bound=bound, **options)
    found = planned(capsys, f"{words} --cells 4 --per-cell 3")
    assert [row["error"] for row in found["errors"]] == [
        *(round(same.sum_error, 1), round(same.count_error, 1), round(same.mean_error, 1))
    ]
    assert found["options"].endswith(" --user FIELD --cells 4 --per-cell 3")
    event = ls.plan_sums(steps=10**6, share=0.02, **options)
    for of in ("counts", "values"):
        ratio = getattr(same.spec, of).sigma / getattr(event.spec, of).sigma
        assert 5.95 < ratio < 6.3
    few = planned(capsys, f"{words} --cells 4 --most-people 99")
    assert few["options"].endswith(" --user FIELD --cells 4 --most-people 99")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--of values --steps 9 --most-people 9", "--most-people: expected --per-person too"),
        ("--of ranges --steps 9 --per-person 0", "--per-person: expected an integer from 1"),
        (
            "--of ranges --steps 9 --per-person 2 --max-events-per-user 2",
            "--max-events-per-user: expected none with --per-person",
        ),
        ("--of sums --steps 9 --per-person 2", "--per-person: expected none with --of sums"),
        (
            "--of sums --steps 9 --low 0 --high 1 --per-cell 2",
            "--per-cell: expected --cells too, got none",
        ),
        (
            "--of sums --steps 9 --low 0 --high 1 --most-people 2",
            "--most-people: expected --cells too, got none",
        ),
        ("--of sums --steps 9 --low 0 --high 1 --cells 0", "--cells: expected an integer from 1"),
        (
            "--of sums --steps 9 --low 0 --high 1 --cells 2 --per-cell 0",
            "--per-cell: expected an integer from 1",
        ),
        (
            "--of sums --steps 9 --low 0 --high 1 --cells 2 --max-events-per-user 2",
            "--max-events-per-user: expected none with --cells",
        ),
        ("--of values --steps 9 --cells 2", "--cells: expected none with --of values"),
        ("--steps 9 --cells 2", "--cells: expected none with --of items"),
        ("--steps 1e6 --per-person 2", "--per-person: expected none with --of items"),
        ("--of ranges --steps 1e6 --bins 8", "--bins: expected none with --of ranges, got one"),
        ("--of ranges --horizon 1e6 --bits 8 --prefix 9", "--prefix: expected an integer from 1"),
        ("--of values --steps 1e6 --width 9", "--width: expected none with --of values, got one"),
        ("--of distinct --steps 1e6", "--distinct: expected the number of distinct items"),
        ("--of distinct --distinct 9 --steps 9 --skew 1", "--skew: expected none with --of dist"),
        ("--of distinct --distinct 9 --steps 9 --bins 8", "--bins: expected none with --of dist"),
        ("--of values --steps 1e6 --error 1%", "--error: expected none with --of values"),
        ("--of values --steps 1e6 --reads 100", "--reads: expected continually or end"),
        ("--of values --steps 1e6 --bins 2", "--bins: expected an integer from 3 to 16,384"),
        ("--of values --rate 5/s", "--for: expected --rate and --for together"),
        ("--of sums --steps 1e6 --high 1", "--low: expected a bound of the values with --of sums"),
        ("--of sums --steps 9 --low 0 --high 1 --bins 8", "--bins: expected none with --of sums"),
        (
            "--of sums --steps 9 --low 0 --high 1 --error 1%",
            "--error: expected none with --of sums",
        ),
        ("--of ranges --steps 9 --mean-weight 4", "--mean-weight: expected --max-weight too"),
        ("--of ranges --steps 9 --max-weight 2 --mean-weight 4", "--mean-weight: expected a num"),
        ("--of values --steps 9 --max-weight 2", "--max-weight: expected none with --of values"),
        (
            "--of sums --steps 9 --low 0 --high 1 --cells 10",
            "--delta: expected at least 1.03e-08, the reach of",
        ),
        (
            "--of sums --steps 9 --low 0 --high 1 --cells 50",
            "person_bound, of sums raise step, or give a horizon",
        ),
        ("--steps 1e6 --low 8", "--low: expected none with --of items"),
        ("--of values", "--steps: expected the length of the stream"),
        ("--steps 1e6 --bins 8", "--bins: expected none with --of items"),
    ],
)
def test_wrong_options_are_named(
    capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    assert main(["plan", *shlex.split(words)]) == 2
    found = capsys.readouterr()
    assert message in found.err
    assert not found.out
