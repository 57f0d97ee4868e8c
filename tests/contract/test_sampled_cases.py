"""``make test`` runs some cases of each slow test, and over several commits all of them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any, cast

import pytest
from tests import sampled_cases


@dataclass(frozen=True)
class Case:
    nodeid: str


def cases(name: str, number: int) -> list[Case]:
    return [Case(f"{name}[{case}]") for case in range(number)]


def sampled(items: list[Case], number: int) -> tuple[list[Case], set[str]]:
    chosen, left_out = sampled_cases.sample(cast("Any", items), number=number)
    return cast("list[Case]", chosen), left_out


def test_every_listed_test_exists() -> None:
    files = {file for file, _ in sampled_cases.listed()}
    named = {
        (file, it.name)
        for file in files
        for it in ast.walk(ast.parse((sampled_cases.ROOT / file).read_text("utf-8")))
        if isinstance(it, ast.FunctionDef)
    }
    assert set(sampled_cases.listed()) <= named
    assert min(sampled_cases.listed().values()) >= 2


@pytest.mark.parametrize("number_of_cases", [1, 2, 3, 4, 7, 20])
def test_each_commit_runs_its_part_and_all_commits_together_everything(
    monkeypatch: pytest.MonkeyPatch, number_of_cases: int
) -> None:
    monkeypatch.setattr(sampled_cases, "listed", lambda: {("tests/a.py", "test_slow"): 3})
    slow = cases("tests/a.py::test_slow", number_of_cases)
    items = [Case("tests/a.py::test_first"), *slow, *cases("tests/b.py::test_slow", 3)]
    seen = set[Case]()
    for number in range(3):
        chosen, left_out = sampled(items, number)
        assert [item for item in items if item in chosen] == chosen
        assert {item.nodeid for item in items if item not in chosen} == left_out
        assert set(items) - set(slow) <= set(chosen)
        ran = set(chosen) & set(slow)
        assert number_of_cases // 3 <= len(ran) <= -(-number_of_cases // 3)
        assert ran
        seen |= ran
    assert seen == set(slow)


def test_every_copy_of_a_commit_runs_the_same() -> None:
    assert sampled_cases.number_of_commit() == sampled_cases.number_of_commit() >= 0


def test_a_copy_without_history_has_a_sample_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert sampled_cases.number_of_commit() == 0
