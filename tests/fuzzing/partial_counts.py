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


@cache
def _live() -> tuple[ls.Store, Any]:
    """Return a store and a sketch of it; one for all sessions of a process."""
    folder = Path(tempfile.mkdtemp(prefix="fuzzed-partials-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    spec = ls.TableSpec(
        kind="count-sketch",
        depth=2,
        width=4,
        schedule=ls.Batch(horizon=1 << 20),
        epsilon=1.0,
        delta=1e-6,
    )
    store = ls.open_store(folder / "s", key=ls.Key.generate(), anchor=folder / "anchor")
    return store, store.sketch("a", spec)


def _spec() -> bytes:
    """Return a description; it cannot be used for ever."""
    described: bytes = _live()[1].partial_spec(most_events=1000)
    return described


def _sealed(chance: Random) -> bytes:
    worker = ls.PartialCounts(_spec())
    worker.update_many([f"{CANARY} {chance.randrange(9)}" for _ in range(chance.randrange(20))])
    return worker.seal()


def _refused(sealed: bytes) -> None:
    """Send damaged counts together with sound ones, which must not be counted either."""
    store, live = _live()
    step = live.step
    sound = _sealed(Random(0))
    for batch in ([sound, sealed], [sealed, sound]):
        _, error = attempt(
            lambda batch=batch: store.add_partials("fuzz", step + 1, batch, into=live)  # type: ignore[misc]
        )
        if not isinstance(error, ArgumentValueError):
            raise error or AssertionError("damaged counts were added")
        assert str(error).startswith("sealed: expected"), error
        assert (live.step, store.last_sequence("fuzz")) == (step, step)


def _described(spec: bytes) -> None:
    """Count under a damaged description; what is sealed is never accepted."""
    if len(spec) == len(_spec()):
        depth, width = (int.from_bytes(spec[at : at + 4], "little") for at in (84, 88))
        if depth * width > _MOST_CELLS:
            return
    worker = ls.PartialCounts(spec)
    worker.update_many([0])
    _refused(worker.seal())


def damages(
    name: str, *, beat: Callable[[int], None], kept: Collection[int] | None = None
) -> tuple[int, list[Finding]]:
    """Damage the counts of one worker, or what it was told; then add sound ones."""
    chance = Random(name)
    (store, live), spec = _live(), _spec()
    is_spec = chance.random() < 0.3
    data = spec if is_spec else _sealed(chance)
    body, edits = bytearray(data), chance.choice([1, 1, 2, 3])
    for number in range(edits):
        if body and (kept is None or number in kept):
            own = Random(f"{name}.{number}")
            own.choice(DAMAGE)(body, own)
    beat(edits)
    changed = bytes(body[: 1 << 16])
    # Neither the step at which a description was handed out nor its number of events is a secret,
    # and a worker that is told others seals for these.
    if changed != data and not (is_spec and _is_of_the_table(changed, spec)):
        _, error = attempt(lambda: (_described if is_spec else _refused)(changed))
        allowed = isinstance(error, ArgumentValueError) and str(error).startswith("spec: expected")
        if error is not None and not allowed:
            kind, text = fault_of(error) or ("wrong class", repr(error))
            text = f"{text}: {changed.hex()}"
            return 1, [Finding("bytes of partial counts", name, edits, kind, text)]
    store.add_partials("fuzz", live.step + 1, [_sealed(chance)], into=live)
    return 1, []


def _is_of_the_table(spec: bytes, sound: bytes) -> bool:
    return len(spec) == len(sound) and spec[:58] + spec[74:] == sound[:58] + sound[74:]
