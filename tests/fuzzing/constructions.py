"""Constructors, descriptions and functions with hostile arguments, mostly near their limits."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, Final

from tests.fuzzing import argument_values as values
from tests.fuzzing.columns import items
from tests.fuzzing.scalars import Disturbance
from tests.fuzzing.verdicts import Finding, attempt, fault_of

import lazysketch as ls
from lazysketch.sources import open_source
from lazysketch.testing import draws, fixed_id, seeded_key

__all__ = ["CALLS", "SUBJECTS", "Subject", "session"]

CALLS: Final = 25  # of one session
_NOISE: Final[dict[str, Any]] = {"epsilon": 1.0, "delta": 1e-6}
_SIZE: Final[dict[str, Any]] = {"depth": 2, "width": 8}
_BINS: Final = ls.Bins([1.0, 2.0])
_FEW: Final = ls.PersonBound(events=3, most_people=9)
_HEAVY: Final = {**_NOISE, "share": 0.2, "width": 32, "depth": 2}

_DISCOVERY: Final[dict[str, Any]] = {
    "relation": "substitution",
    "max_events_per_user": 1,
    "epoch": 100,
    "capacity": 40,
    "max_item_bytes": 32,
    "max_weight": 5,
    "counted_weight": 2,
}


@dataclass(frozen=True)
class Subject:
    """A callable with good arguments, and those that hostile values replace."""

    name: str
    call: Callable[..., object]
    good: dict[str, Any]
    others: tuple[str, ...] = ()
    rare: bool = False


@cache
def _sketch() -> ls.LazyCountMin:
    return ls.LazyCountMin(**_SIZE, **_NOISE, key=seeded_key(1), horizon=100)


@cache
def _spec() -> ls.TableSpec:
    return ls.TableSpec(kind="count-min", schedule=ls.Geometric(), **_SIZE, **_NOISE)


def _parameters(call: Callable[..., object], good: dict[str, Any]) -> tuple[str, ...]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found = inspect.signature(call).parameters.values()
    names = [one.name for one in found if one.kind not in kinds]
    return tuple(dict.fromkeys([*good, *names]))


def _of(call: Any, good: dict[str, Any], *, name: str = "", rare: bool = False) -> Subject:
    label = name or getattr(call, "__qualname__", "call")
    return Subject(label, call, good, _parameters(call, good), rare)


def _methods() -> list[Subject]:
    """Return methods of descriptions."""
    sketch, spec = _sketch(), _spec()
    privacy = ls.LazyCountMin(**_SIZE, **_NOISE).privacy
    both, haar = ls.compose(privacy, privacy), ls.Mechanism("haar", leaves=8)
    timed, part = ls.RoundRobin(horizon=100), sketch.release().parts[0]
    networks, pushes = ls.ipv4_prefixes(), {"width": 4, "step": 5}
    heavy = ls.HeavyHittersSpec.of(schedule=ls.Geometric(), **_HEAVY)
    return [
        *(_of(shown.epsilon_at, {"delta": 1e-6}) for shown in (privacy, both)),
        *(_of(shown.delta_at, {"epsilon": 1.0}) for shown in (privacy, both)),
        *(_of(one.pushes, pushes) for one in (timed, ls.Geometric(), ls.Punctual(horizon=9))),
        *(_of(one.leaves, {"width": 4}) for one in (timed, ls.Geometric(), ls.Single(horizon=9))),
        *(_of(one, {"width": 8}) for one in (part.pushes, part.noise_variance)),
        *(_of(one, {"width": 8}) for one in (part.published_steps,)),
        _of(haar.variances, {"pushes": [1, 2]}),
        _of(spec.with_hash_seed, {"seed": 1}),
        _of(spec.with_privacy, {"epsilon": 1.0, "delta": 1e-6}),
        _of(networks.of, {"item": "10.0.0.1"}),
        _of(networks.above, {"name": "10.0.0.1", "level": 1}),
        _of(networks.columns, {"items": ["10.0.0.1"]}),
        _of(ls.LazyCountMin.from_spec, {"spec": spec, "key": None}),
        _of(ls.PunctualCountMin.from_spec, {"spec": spec, "key": None}),
        _of(ls.HeavyHitters.from_spec, {"spec": heavy, "key": None}),
    ]


def _subjects() -> list[Subject]:
    private = {**_SIZE, **_NOISE, "horizon": 64}
    errors = {"relative_error": 0.1, "failure_probability": 0.1}
    lazy = [ls.LazyCountMin, ls.LazyCountSketch, ls.PunctualCountMin, ls.PunctualCountSketch]
    levels, privacy = ls.ipv4_prefixes((8, 32)), ls.LazyCountMin(**_SIZE, **_NOISE).privacy
    timed = {"horizon": 100}
    return [
        *(_of(kind, private) for kind in lazy),
        *(_of(kind, {**errors, **_NOISE, "horizon": 64}) for kind in lazy),
        *(_of(kind, _SIZE) for kind in (ls.CountMin, ls.CountSketch)),
        _of(ls.CountMin, errors),
        _of(ls.ContinualCounters, {"counters": 4, "horizon": 64, **_NOISE}),
        _of(ls.DistinctCount, {"horizon": 64, "bits": 128, "levels": 4, **_NOISE}),
        _of(ls.Distribution, {"bins": ls.Bins([1.0, 2.0]), "horizon": 64, **_NOISE}),
        _of(ls.Ranges, {"bits": 8, "horizon": 64, **_NOISE}),
        _of(ls.Ranges, {"bits": 8, "horizon": 64, **_NOISE, "person_bound": _FEW}),
        _of(ls.Sums, {"low": -1.0, "high": 9.0, "horizon": 64, "width": 32, **_NOISE}),
        _of(ls.Distribution, {"bins": _BINS, "horizon": 64, **_NOISE, "person_bound": _FEW}),
        _of(ls.Sums, {"low": -1.0, "high": 9.0, "horizon": 64, **_NOISE, "person_bound": _FEW}),
        _of(ls.Bins, {"edges": [0.0, 1.0]}),
        *(
            _of(make, {"low": 1.0, "high": 2.0, "number": 6})
            for make in (ls.Bins.linear, ls.Bins.logarithmic)
        ),
        _of(ls.HeavyHitters, {**_HEAVY, "discovery_epoch": 60}),
        _of(ls.HeavyHitters, {**_NOISE, **_SIZE, "domain": ["a", "b"]}),
        _of(ls.HierarchicalHeavyHitters, {"levels": levels, **_HEAVY, "discovery_epoch": 60}),
        _of(
            ls.HierarchicalWindows,
            {"levels": levels, **_HEAVY, "every": "1h", "slices": 4, "clock": lambda: 0.0},
        ),
        _of(ls.Windows, {**_HEAVY, "every": 100}),
        _of(ls.Sliding, {**_HEAVY, "every": "1s", "span": "4s", "clock": lambda: 0.0}),
        _of(ls.Sliding, {**_HEAVY, "every": 25, "span": 100}),
        _of(
            ls.Sliding,
            {**_HEAVY, "every": "6h", "span": "12h", "begin": "2026-05-17", "end": "2026-05-18"},
        ),
        _of(ls.Windows, {**_HEAVY, "every": "1h", "slices": 4, "clock": lambda: 0.0}),
        _of(ls.Windows, {**_HEAVY, "every": "6h", "begin": "2026-05-17", "end": "2026-05-18"}),
        *(
            subject
            for cut in ({"every": 100}, {"every": "1h", "slices": 4, "clock": lambda: 0.0})
            for subject in (
                _of(ls.DistinctWindows, {"bits": 128, "levels": 4, **_NOISE, **cut}),
                _of(ls.DistributionWindows, {"bins": ls.Bins([1.0, 2.0]), **_NOISE, **cut}),
                _of(ls.SumsWindows, {"low": 0, "high": 9, **_SIZE, **_NOISE, **cut}),
                _of(ls.RangesWindows, {"bits": 8, "width": 16, **_NOISE, **cut}),
            )
        ),
        _of(ls.TableSpec, {"kind": "count-min", "schedule": ls.Geometric(), **_SIZE, **_NOISE}),
        _of(ls.HeavyHittersSpec.of, {**_HEAVY, "schedule": ls.Geometric()}),
        _of(ls.DiscoverySpec, {**_NOISE, **_DISCOVERY}),
        *(_of(kind, timed) for kind in (ls.RoundRobin, ls.Punctual, ls.Batch, ls.Single)),
        _of(ls.Geometric, {}),
        _of(ls.PersonBound, {"cells": 3, "events": 2}),
        _of(ls.Mechanism, {"name": "haar", "leaves": 8}),
        _of(ls.Levels, {"names": ("a", "b"), "split": lambda item: (item, item)}),
        *(_of(kind, {"lengths": (8, 32)}) for kind in (ls.ipv4_prefixes, ls.ipv6_prefixes)),
        *(_of(kind, {"depth": 2}) for kind in (ls.url_paths, ls.dns_names)),
        _of(lambda part: ls.compose(privacy, part), {"part": privacy}, name="compose"),
        _of(ls.Composition, {"parts": (privacy, privacy), "stated_delta": 1e-6}),
        _of(ls.Key.from_bytes, {"secret": bytes(32)}),
        _of(seeded_key, {"seed": 1, "sketch_id": None}),
        _of(fixed_id, {"key": ls.Key.generate(), "sketch_id": bytes(16)}),
        _of(draws, {"sketch": _sketch(), "cells": [0], "nodes": [1]}),
        _of(ls.Release.load, {"path": "no such file"}, name="Release.load"),
        _of(ls.PeriodicSaves, {"release": _sketch().release, "path": "no such folder/a.lzs"}),
        _of(open_source, {"paths": "/dev/null", "format": "lines"}),
        _of(ls.plan_distinct, {"items": 10_000, **_NOISE}, rare=True),
        _of(
            ls.plan_distribution,
            {"bins": ls.Bins([1.0, 2.0]), "values": 10_000, **_NOISE},
            rare=True,
        ),
        _of(ls.plan_sums, {"steps": 10_000, "low": 0, "high": 9, "width": 64, **_NOISE}, rare=True),
        _of(ls.clip_bounds, {"sample": [1.0, 2.0, 9.0], "steps": 10_000, **_NOISE}, rare=True),
        _of(ls.plan_ranges, {"keys": 10_000, "bits": 8, **_NOISE}, rare=True),
        _of(ls.plan, {"steps": 10_000, "relative_error": 0.5, **_NOISE}, rare=True),
        *_methods(),
    ]


SUBJECTS: Final = _subjects()
_COMMON: Final = [subject for subject in SUBJECTS if not subject.rare]
_WORDS: Final[dict[str, Any]] = {
    "relation": values.choice_of("substitution", "zero-out"),
    "mechanism": values.choice_of(None, "haar", "tree-log", "square-root", "binary"),
    "calibration": values.choice_of("analytic", "classical"),
    "kind": values.choice_of("count-min", "count-sketch", "counters", "exact"),
    "schedule": values.choice_of(None, "punctual", "batch", ls.Geometric(), ls.Single(horizon=3)),
    "name": values.choice_of("haar", "10.0.0.1", "10.0.0.0/8"),
    "every": values.choice_of("1h", 100, "0s", "1e9d", "P1D", "1000000000h", 10**12),
    "begin": values.choice_of(None, "2026-05-17", "9999-12-31", "0001-01-01T00:00+23:59"),
    "end": values.choice_of(None, "2026-05-18", "9999-12-31T23:59:59.999999-23:59"),
    "clock": values.choice_of(None, lambda: float("nan"), lambda: "now", lambda: 1e300, int),
    "format": values.choice_of("auto", "csv", "jsonl", "lines", "pcap"),
    "encoding": values.choice_of("utf-8", "latin-1", "utf-16", "rot13", "idna", "undefined"),
    "delimiter": values.choice_of(",", "tab", "::", "\n", '"'),
    "items": items,
    "edges": items,
    "low": values.real,
    "high": values.real,
    "domain": items,
    "sample": items,
    "pushes": items,
    "cells": items,
    "nodes": items,
}
_REALS: Final = {"epsilon", "delta", "relative_error", "failure_probability", "share", "confidence"}
_REALS_TOO: Final = {"discovery_epsilon", "discovery_delta", "mean_weight", "skew", "duration"}


def _value(name: str, chance: Random, disturbance: Disturbance) -> Any:
    if name in _WORDS:
        return _WORDS[name](chance, disturbance)
    if name in _REALS | _REALS_TOO:
        return values.real(chance, disturbance)
    which = values.argument if chance.random() < 0.3 else values.integer
    return which(chance, disturbance)


def session(
    name: str, *, beat: Callable[[int], None], kept: Collection[int] | None = None
) -> tuple[int, list[Finding]]:
    """Make the calls of a session; return their number and the defects.

    Args:
        name: the seed.
        beat: called before each call with its number.
        kept: numbers of the calls to make; all if None.
    """
    made = range(CALLS) if kept is None else sorted(kept)
    for at, number in enumerate(made):
        beat(number)
        chance = Random(f"{name}.{number}")
        subject = chance.choice(SUBJECTS if chance.random() < 0.02 else _COMMON)
        arguments = dict(subject.good)
        for word in chance.sample(
            subject.others, min(chance.choice([1, 1, 2, 3]), len(subject.others))
        ):
            arguments[word] = _value(word, chance, lambda: _sketch().release())
        _, error = attempt(lambda: _used(subject.call(**arguments)))  # noqa: B023
        # A path of the caller may fail as open() fails.
        allowed = (OSError,) if subject.name == "Release.load" else ()
        fault = None if error is None else fault_of(error, allowed=allowed)
        if fault is not None:
            shown = {word: repr_of(value) for word, value in arguments.items()}
            text = f"{subject.name}: {fault[1]} of {shown}"[:2000]
            return at + 1, [Finding("constructions", name, number, fault[0], text)]
    return len(made), []


def _used(made: object) -> object:
    """Use what was made: a table that can be made can be read."""
    repr(made)
    if isinstance(made, (ls.LazyCountMin, ls.HeavyHitters)) and made.spec is not None:
        shape = made.spec if isinstance(made, ls.LazyCountMin) else made.spec.table
        if shape.depth * shape.width < 5000:
            made.update("a")
            made.release()
            repr(made.privacy)
    return made


def repr_of(value: object) -> str:
    """Return a short text of a value, also of one whose own raises."""
    text, error = attempt(lambda: repr(value))
    return str(text)[:80] if error is None else type(value).__name__
