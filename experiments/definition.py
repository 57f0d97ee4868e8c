"""Experiment definitions: TOML files in ``panels/``, checked when they are read.

A file names the measure (``experiments/measures``), the parameter that varies and its values, the
contenders, all other parameters, what a quick run changes, and the expectations
(``experiments/expectations.py``).
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from experiments.settings import Settings, Value

__all__ = ["PANELS", "Definition", "Expectation", "Quick", "Value", "definition", "definitions"]

PANELS = Path(__file__).parent / "panels"
_KEYS = {"title", "panel", "measure", "axis", "values", "contenders", "parameters"}
_OPTIONAL = {"quick", "expect", "most_trials", "order", "sequential", "unit"}
_EXPECTED = {
    "ratio": {"series", "than", "metric"},
    "slope": {"series", "metric"},
    "falls": {"series", "metric", "from", "to"},
    "value": {"metric"},
    "beyond": {"series", "at"},
}
_EXPECTED_ALSO = {"kind", "what", "series", "at", "against", "least", "most"}


@dataclass(frozen=True)
class Expectation:
    """A statement that the result must satisfy.

    Args:
        kind: one of the kinds of ``experiments/expectations.py``.
        what: the statement in words.
        metric: the metric it speaks of.
        series: the series it speaks of; all if empty.
        than: the series of the denominator, of a ratio.
        at: the values it speaks of; all if empty.
        start: the value that a fall starts from.
        end: the value that a fall ends at.
        logarithmic: True for a slope against log2 of the axis.
        least: lower limit.
        most: upper limit.
    """

    kind: str
    what: str
    metric: str = ""
    series: str = ""
    than: str = ""
    at: tuple[Value, ...] = ()
    start: Value = 0
    end: Value = 0
    logarithmic: bool = False
    least: float = -math.inf
    most: float = math.inf

    @classmethod
    def of(cls, entry: Settings) -> Expectation:
        """Return the expectation of one ``[[expect]]`` table.

        Args:
            entry: the table.

        Returns:
            The expectation.

        Raises:
            ValueError: an unknown kind, a key that is missing or unknown, or no limit.
        """
        kind = entry.text("kind")
        if kind not in _EXPECTED:
            raise ValueError(f"kind: expected one of {', '.join(_EXPECTED)}, got {kind}")
        if missing := sorted(_EXPECTED[kind] - entry.values.keys()):
            raise ValueError(f"{kind}: expected {', '.join(missing)}, got none")
        if unknown := sorted(entry.values.keys() - _EXPECTED[kind] - _EXPECTED_ALSO):
            raise ValueError(f"{kind}: expected known keys, got {', '.join(unknown)}")
        if not {"least", "most"} & entry.values.keys():
            raise ValueError(f"{kind}: expected least or most, got none")
        return cls(
            kind=kind,
            what=entry.text("what"),
            metric=entry.text("metric", ""),
            series=entry.text("series", ""),
            than=entry.text("than", ""),
            at=entry.list_of_values("at") if "at" in entry else (),
            start=entry.value("from") if "from" in entry else 0,
            end=entry.value("to") if "to" in entry else 0,
            logarithmic=entry.text("against", "") == "log",
            least=entry.number("least", -math.inf),
            most=entry.number("most", math.inf),
        )


@dataclass(frozen=True)
class Quick:
    """Changes of a quick run.

    Args:
        values: the values that are run; all when None.
        trials: of every value.
        parameters: parameters with another value.
    """

    values: tuple[Value, ...] | None = None
    trials: int = 1
    parameters: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Definition:
    """One experiment.

    Args:
        name: name of its file.
        title: the finding, as the title of the plot.
        panel: panel or table of the paper, or "ours".
        measure: a module of ``experiments.measures``.
        axis: the parameter that varies.
        unit: unit of the axis, for readers.
        values: values of the axis.
        contenders: names of what is compared.
        parameters: all other parameters.
        quick: changes of a quick run.
        expect: statements that the result must satisfy.
        order: position in the report.
        sequential: True if cells are timed and must not run concurrently with others.
        most_trials: upper limit of trials: 1 where nothing is random.
    """

    name: str
    title: str
    panel: str
    measure: str
    axis: str
    unit: str
    values: tuple[Value, ...]
    contenders: tuple[str, ...]
    parameters: Mapping[str, object]
    quick: Quick
    expect: tuple[Expectation, ...]
    order: int
    sequential: bool
    most_trials: int

    @property
    def digest(self) -> str:
        """Hash of all that is measured; cells with another digest are ignored."""
        measured = [self.measure, self.axis, list(self.contenders), dict(self.parameters)]
        text = json.dumps(measured, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def for_quick_run(self) -> Definition:
        """Return the same experiment with fewer values, for a check of a minute."""
        return replace(
            self,
            values=self.values if self.quick.values is None else self.quick.values,
            parameters={**self.parameters, **self.quick.parameters},
        )

    def trials(self, asked: int, *, quick: bool) -> int:
        """Return the number of trials of every value."""
        return min(asked, self.quick.trials if quick else asked, self.most_trials)


def definition(path: Path) -> Definition:
    """Read one experiment.

    Args:
        path: a TOML file.

    Returns:
        The experiment.

    Raises:
        ValueError: a key that is missing, unknown or empty.
    """
    read = Settings.read(path)
    if missing := sorted(_KEYS - read.values.keys()):
        raise ValueError(f"{path.name}: expected {', '.join(missing)}, got none")
    if unknown := sorted(read.values.keys() - _KEYS - _OPTIONAL):
        raise ValueError(f"{path.name}: expected known keys, got {', '.join(unknown)}")
    values, contenders = read.list_of_values("values"), read.texts("contenders")
    if not values or not contenders:
        raise ValueError(f"{path.name}: expected values and contenders, got none")
    quick = read.table("quick")
    return Definition(
        name=path.stem,
        title=read.text("title"),
        panel=read.text("panel"),
        measure=read.text("measure"),
        axis=read.text("axis"),
        unit=read.text("unit", ""),
        values=values,
        contenders=contenders,
        parameters=read.table("parameters").values,
        quick=Quick(
            values=quick.list_of_values("values") if "values" in quick else None,
            trials=quick.integer("trials", 1),
            parameters=quick.table("parameters").values,
        ),
        expect=tuple(Expectation.of(entry) for entry in read.tables("expect")),
        order=read.integer("order", 100),
        sequential=read.flag("sequential"),
        most_trials=read.integer("most_trials", sys.maxsize),
    )


def definitions() -> dict[str, Definition]:
    """Return all experiments by name, in the order of the report."""
    found = [definition(path) for path in sorted(PANELS.glob("*.toml"))]
    return {each.name: each for each in sorted(found, key=lambda each: each.order)}
