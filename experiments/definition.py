"""An experiment as data: a TOML file in ``panels/``, checked once.

The file says which measure is taken (``experiments/measures``), which parameter varies over which
values, which contenders compete, all other parameters, what a quick run leaves out, and what is
expected (``experiments/expectations.py``).
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["PANELS", "Definition", "Value", "definition", "definitions"]

PANELS = Path(__file__).parent / "panels"
_KEYS = {"title", "panel", "measure", "axis", "values", "contenders", "parameters"}
_OPTIONAL = {"quick", "expect", "most_trials", "order", "sequential", "unit"}

Value = int | float | str


@dataclass(frozen=True)
class Definition:
    """One experiment.

    Args:
        name: of its file.
        title: what was found, for the plot.
        panel: where it stands in the paper, or "ours".
        measure: a module of ``experiments.measures``.
        axis: the parameter that varies.
        unit: of the axis, for people.
        values: what it takes.
        contenders: who competes, by name.
        parameters: all other parameters.
        quick: ``values``, ``trials`` and ``parameters`` of a quick run.
        expect: what the result must show.
        order: place in the report.
        sequential: True if its cells are timed, and must not run beside others.
        most_trials: more than these say nothing new: 1 where nothing is random.
    """

    name: str
    title: str
    panel: str
    measure: str
    axis: str
    unit: str
    values: tuple[Value, ...]
    contenders: tuple[str, ...]
    parameters: Mapping[str, Any]
    quick: Mapping[str, Any]
    expect: tuple[Mapping[str, Any], ...]
    order: int
    sequential: bool
    most_trials: int

    @property
    def digest(self) -> str:
        """Names what is measured: cells of another digest belong to another experiment."""
        measured = [self.measure, self.axis, list(self.contenders), dict(self.parameters)]
        text = json.dumps(measured, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def for_quick_run(self) -> Definition:
        """The same experiment with fewer values, for a check of a minute."""
        return replace(
            self,
            values=tuple(self.quick.get("values", self.values)),
            parameters={**self.parameters, **self.quick.get("parameters", {})},
        )

    def trials(self, asked: int, *, quick: bool) -> int:
        """How many trials a run takes of every value."""
        most = int(self.quick.get("trials", 1)) if quick else asked
        return min(asked, most, self.most_trials)


def definition(path: Path) -> Definition:
    """Read one experiment.

    Args:
        path: a TOML file.

    Returns:
        The experiment.

    Raises:
        ValueError: a key that is missing, unknown or empty.
    """
    with path.open("rb") as file:
        read = tomllib.load(file)
    if missing := sorted(_KEYS - read.keys()):
        raise ValueError(f"{path.name}: expected {', '.join(missing)}, got none")
    if unknown := sorted(read.keys() - _KEYS - _OPTIONAL):
        raise ValueError(f"{path.name}: expected known keys, got {', '.join(unknown)}")
    if not read["values"] or not read["contenders"]:
        raise ValueError(f"{path.name}: expected values and contenders, got none")
    return Definition(
        name=path.stem,
        title=str(read["title"]),
        panel=str(read["panel"]),
        measure=str(read["measure"]),
        axis=str(read["axis"]),
        unit=str(read.get("unit", "")),
        values=tuple(read["values"]),
        contenders=tuple(read["contenders"]),
        parameters=read["parameters"],
        quick=read.get("quick", {}),
        expect=tuple(read.get("expect", ())),
        order=int(read.get("order", 100)),
        sequential=bool(read.get("sequential", False)),
        most_trials=int(read.get("most_trials", sys.maxsize)),
    )


def definitions() -> dict[str, Definition]:
    """All experiments by name, in the order of the report."""
    found = [definition(path) for path in sorted(PANELS.glob("*.toml"))]
    return {each.name: each for each in sorted(found, key=lambda each: each.order)}
