"""The corpus as two campaigns of one session each, whose parts are the files and the calls."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from random import Random
from typing import Final

from tests.fuzzing.corpus.calls import CALLS
from tests.fuzzing.inputs import counted_fault, read_fault
from tests.fuzzing.verdicts import Finding, Kind, attempt, fault_of

__all__ = ["FILES", "calls", "files"]

FILES: Final = sorted((Path(__file__).parent / "corpus" / "inputs").iterdir())
_TIMES: Final = 3  # each file, with other settings


def calls(
    name: str, *, beat: Callable[[int], None], kept: Collection[int] | None = None
) -> tuple[int, list[Finding]]:
    """Make every call; its error must be of the expected class."""
    findings, made = [], range(len(CALLS)) if kept is None else sorted(kept)
    for number in made:
        beat(number)
        label, call, expected = CALLS[number]
        _, error = attempt(call)
        fault: tuple[Kind, str] | None = None if error is None else fault_of(error)
        if fault is None and not isinstance(error, expected):
            fault = "wrong class", repr(error)
        if fault is not None:
            findings.append(
                Finding("corpus of calls", name, number, fault[0], f"{label}: {fault[1]}")
            )
    return len(made), findings


def files(
    name: str, *, beat: Callable[[int], None], kept: Collection[int] | None = None
) -> tuple[int, list[Finding]]:
    """Read every file, as the format in its name and as another one."""
    findings, made = [], range(_TIMES * len(FILES)) if kept is None else sorted(kept)
    for number in made:
        beat(number)
        path, chance = FILES[number // _TIMES], Random(f"{name}.{number}")
        form = path.name.split(".")[1]
        fault = read_fault(form, path, chance) or counted_fault(form, path, chance)
        if fault is not None:
            text = f"{path.name}: {fault[1]}"
            findings.append(Finding("corpus of inputs", name, number, fault[0], text))
    return 2 * len(made), findings
