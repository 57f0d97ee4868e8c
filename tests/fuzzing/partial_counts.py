"""Damaged partial counts, and damaged descriptions, at a store that must not change."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzzing.mutations import DAMAGE
from tests.fuzzing.verdicts import CANARY, Finding, attempt, fault_of

import lazysketch as ls
from lazysketch.errors import ArgumentValueError

__all__ = ["damages"]

_MOST_CELLS = 1 << 24  # of a description whose size was damaged: more would only cost memory


_KINDS = ("table", "names", "levels", "ranges", "sums")


@cache
def _live(kind: str) -> tuple[ls.Store, Any]:
    """Return a store and an object of it; one of each kind for all sessions of a process."""
    folder = Path(tempfile.mkdtemp(prefix="fuzzed-partials-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    store = ls.open_store(folder / "s", key=ls.Key.generate(), anchor=folder / "anchor")
    steps = ls.Batch(horizon=1 << 20)
    if kind == "table":
        spec = ls.TableSpec(
            kind="count-sketch", depth=2, width=4, schedule=steps, epsilon=1.0, delta=1e-6
        )
        return store, store.sketch("a", spec)
    if kind == "ranges":
        ranges = ls.Ranges(bits=6, width=5, schedule=steps, epsilon=1.0, delta=1e-6)
        return store, store.ranges("a", ranges.spec)
    if kind == "sums":
        sums = ls.Sums(
            low=-1, high=4, step=1, depth=2, width=4, schedule=steps, epsilon=1.0, delta=1e-6
        )
        return store, store.sums("a", sums.spec)
    found: dict[str, Any] = {
        "share": 0.2, "schedule": steps, "discovery_epoch": 3, "depth": 2, "width": 16,
        "epsilon": 8.0, "delta": 1e-3,
    }  # fmt: skip
    if kind == "names":
        return store, store.heavy_hitters("a", ls.HeavyHittersSpec.of(**found))
    return store, store.hierarchy("a", ls.dns_names(1), **found)


def _spec(kind: str) -> bytes:
    """Return a description; it cannot be used for ever."""
    described: bytes = _live(kind)[1].partial_spec(most_events=1000)
    return described


def _sealed(kind: str, chance: Random) -> bytes:
    worker = ls.PartialCounts(_spec(kind))
    numbers = [chance.randrange(9) for _ in range(chance.randrange(20))]
    names = [f"{number}.{CANARY}" for number in numbers]
    values = [chance.randrange(-1, 5) for _ in names] if kind == "sums" else None
    worker.update_many(numbers if kind == "ranges" else names, values)
    return worker.seal()


def _refused(kind: str, sealed: bytes) -> None:
    """Send damaged counts together with sound ones, which must not be counted either."""
    store, live = _live(kind)
    step = live._partial_table()._step
    sound = _sealed(kind, Random(0))
    for batch in ([sound, sealed], [sealed, sound]):
        _, error = attempt(
            lambda batch=batch: store.add_partials("fuzz", step + 1, batch, into=live)  # type: ignore[misc]
        )
        if not isinstance(error, ArgumentValueError):
            raise error or AssertionError("damaged counts were added")
        assert str(error).startswith("sealed: expected"), error
        assert (live._partial_table()._step, store.last_sequence("fuzz")) == (step, step)


def _described(kind: str, spec: bytes) -> None:
    """Count under a damaged description; what is sealed is never accepted."""
    if len(spec) >= 92:
        depth, width = (int.from_bytes(spec[at : at + 4], "little") for at in (84, 88))
        if depth * width > _MOST_CELLS:
            return
    worker = ls.PartialCounts(spec)
    # Damaged levels may be others, and a table may be one of keys.
    values = [0.0] if worker._has_sums else None
    worker._update_fitting(["org"] if worker._key_bits is None else [1], values)
    _refused(kind, worker.seal())


def damages(
    name: str, *, beat: Callable[[int], None], kept: Collection[int] | None = None
) -> tuple[int, list[Finding]]:
    """Damage the counts of one worker, or what it was told; then add sound ones."""
    chance = Random(name)
    kind = chance.choice(_KINDS)
    (store, live), spec = _live(kind), _spec(kind)
    is_spec = chance.random() < 0.3
    data = spec if is_spec else _sealed(kind, chance)
    body, edits = bytearray(data), chance.choice([1, 1, 2, 3])
    for number in range(edits):
        if body and (kept is None or number in kept):
            own = Random(f"{name}.{number}")
            own.choice(DAMAGE)(body, own)
    beat(edits)
    changed = bytes(body[: 1 << 16])
    # Neither the step at which a description was handed out nor its numbers of events and names are
    # secrets, and a worker that gets others seals for these.
    if changed != data and not (is_spec and _is_of_the_table(changed, spec)):
        _, error = attempt(lambda: (_described if is_spec else _refused)(kind, changed))
        allowed = isinstance(error, ArgumentValueError) and str(error).startswith("spec: expected")
        if error is not None and not allowed:
            fault, text = fault_of(error) or ("wrong class", repr(error))
            text = f"{text}: {changed.hex()}"
            return 1, [Finding("bytes of partial counts", name, edits, fault, text)]
    store.add_partials("fuzz", live._partial_table()._step + 1, [_sealed(kind, chance)], into=live)
    return 1, []


def _is_of_the_table(spec: bytes, sound: bytes) -> bool:
    """Compare what is not how many events and names a partial has, or when it was handed out."""

    def kept(one: bytes) -> bytes:
        has_names = one[8:10] == b"\2\0"
        return one[:58] + one[74:100] + one[108 if has_names else 100 :]

    return len(spec) == len(sound) and kept(spec) == kept(sound)
