"""The golden releases: one per kind of table and schedule, merged, with names, finished and large.

`python -m tests.golden.releases.regenerate` writes them again, after a deliberate change of
format, hashes or noise (each has a new version and an entry in the changelog). Everything is
deterministic except the ids of exact sketches. Sigma is a round number here, because the last
bit of a calibrated sigma, and so the noise, may differ between machines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.native_specs import table_spec

import lazysketch as ls
from lazysketch import _native
from lazysketch.estimation.estimators import Estimator
from lazysketch.releases.run_promise import RunFacts
from lazysketch.result_tables import plain_text
from lazysketch.specification.schedules import schedule_for
from lazysketch.testing import seeded_key

FOLDER = Path(__file__).parent
ITEMS: list[Any] = ["a", "", "é", b"a", b"", 0, 1, -1, 2**63, 2**64 - 1, 2**64, -(2**70)]
STEPS = 200
SHARED_SEED = 2**64 - 59
LARGE = 5462  # columns: three rows of them are 16 blocks of cells, and two cells more
RUN = (0.5, 4e-6, 40.25, 9.5, 0.25, 1e-6)


def _stream(length: int) -> list[Any]:
    return [ITEMS[(t * t) % len(ITEMS)] for t in range(length)]


def _exact(make: Callable[..., Any], *, width: int = 8, more: Sequence[int] = ()) -> ls.Release:
    sketch = make(depth=3, width=width, hash_seed=SHARED_SEED)
    sketch.update_many(_stream(STEPS), [1 + t % 5 for t in range(STEPS)])
    sketch.update_many(list(range(len(more))), list(more))
    release: ls.Release = sketch.release()
    return release


def _noisy(
    kind: str,
    schedule: str,
    *,
    number: int,
    finished: bool = False,
    run: RunFacts | None = None,
    **changed: Any,
) -> ls.Release:
    counters = kind == "counters"
    horizon = None if schedule in ("geometric", "single") else 1000
    arguments: dict[str, Any] = {
        "kind": kind,
        "depth": 1 if counters else 3,
        "width": 8,
        "hash_seed": None,
        "schedule": schedule_for(schedule, horizon).specification,
        "mechanism": "haar",
        "sigma": 40.25,
        "relation": "substitution",
        "calibration": "analytic",
        "epsilon": 1.0,
        "delta": 1e-6,
        "max_weight": 5,
        "max_events_per_user": 1,
        "max_changes": 1,
    }
    key = seeded_key(number, sketch_id=bytes([number]) * 16)
    sketch = _native.PrivateSketch(table_spec(**{**arguments, **changed}), key=key)
    items = [t % 8 for t in range(STEPS)] if counters else _stream(STEPS)
    people = [t % 9 for t in range(STEPS)] if changed.get("person_bound") else None
    sketch.update_many(items, [t % 6 for t in range(STEPS)], user=people)
    sketch.tick(3)
    if finished:
        sketch.finish()
    return ls.Release(sketch._release(run))


def _merged() -> ls.Release:
    parts = [
        _noisy("count-sketch", "round robin", number=9, hash_seed=SHARED_SEED),
        _noisy("count-sketch", "geometric", number=8, hash_seed=SHARED_SEED, sigma=12.5),
    ]
    return parts[0].merge(parts[1])


GOLDEN: dict[str, Callable[[], ls.Release]] = {
    "exact-count-min": lambda: _exact(ls.CountMin),
    "exact-count-sketch": lambda: _exact(ls.CountSketch),
    "count-min-round-robin": lambda: _noisy("count-min", "round robin", number=1),
    "count-min-geometric": lambda: _noisy(
        "count-min", "geometric", number=2, mechanism="binary", relation="zero-out"
    ),
    "count-min-punctual": lambda: _noisy("count-min", "punctual", number=3, max_events_per_user=7),
    "count-sketch-round-robin": lambda: _noisy(
        "count-sketch", "round robin", number=4, calibration="classical", epsilon=0.5
    ),
    "count-sketch-geometric": lambda: _noisy("count-sketch", "geometric", number=5),
    "count-sketch-punctual": lambda: _noisy(
        "count-sketch", "punctual", number=6, mechanism="binary"
    ),
    "counters-round-robin": lambda: _noisy("counters", "round robin", number=7, max_changes=4),
    "counters-geometric": lambda: _noisy("counters", "geometric", number=10),
    "counters-punctual": lambda: _noisy("counters", "punctual", number=11),
    "count-min-deep": lambda: _noisy("count-min", "punctual", number=19, mechanism="tree-deep"),
    "count-min-endless": lambda: _noisy(
        "count-min", "punctual", number=20, mechanism="tree-endless"
    ),
    "merged": _merged,
    "finished-round-robin": lambda: _noisy(
        "count-min", "round robin", number=13, mechanism="tree", finished=True
    ),
    "finished-single": lambda: _noisy("count-sketch", "single", number=14, finished=True),
    "finished-named": lambda: ls.Release(
        _noisy("count-min", "geometric", number=15, mechanism="tree-log", finished=True)._native,
        ITEMS,
    ),
    "finished-merged": lambda: _noisy(
        "counters", "geometric", number=16, hash_seed=0, finished=True
    ).merge(_noisy("counters", "punctual", number=17, hash_seed=0)),
    "open-single": lambda: _noisy("count-min", "single", number=18),
    "people": lambda: _noisy(
        "count-min", "round robin", number=21, person_bound=ls.PersonBound(cells=3, events=2)
    ),
    "people-limited-finished": lambda: _noisy(
        "count-sketch",
        "punctual",
        number=22,
        person_bound=ls.PersonBound(cells=2, most_people=5),
        finished=True,
        run=(bytes(range(16)), 1.5, 1e-5, [(3, RUN), (2, RUN)]),
    ),
    "named": lambda: ls.Release(_noisy("count-min", "round robin", number=12)._native, ITEMS),
    "exact-large": lambda: _exact(
        ls.CountSketch, width=LARGE, more=[2**power for power in range(32)]
    ),
    "large-named": lambda: ls.Release(
        _noisy("count-min", "punctual", number=23, width=LARGE, sigma=2.5)._native, ITEMS
    ),
}


def _listed(numbers: NDArray[np.int64]) -> Any:
    """Return the numbers, or of many their sum and a digest of their bytes."""
    if numbers.size < LARGE:
        return numbers.tolist()
    digest = blake2b(numbers.astype("<i8").tobytes(), digest_size=16)
    return {"sum": int(numbers.sum()), "digest": digest.hexdigest()}


def expected(release: ls.Release) -> dict[str, Any]:
    """Return the public content of a release, in types that JSON supports."""
    paper: Estimator = "median" if release.kind == "count-sketch" else "minimum"
    queries = range(8) if release.kind == "counters" else ITEMS
    # Type and text of each name, because JSON has no bytes.
    names = [f"{type(name).__name__} {plain_text(name)}" for name in release.names]
    return {
        **({"names": names} if names else {}),
        "kind": release.kind,
        "depth": release.depth,
        "width": release.width,
        "hash_seed": release.hash_seed,
        "step": release.step,
        "not_private_because": list(release.not_private_because),
        "table": _listed(release.table),
        "estimates": [release.estimate(item, estimator=paper) for item in queries],
        "parts": [
            {
                "sketch_id": part.sketch_id.hex(),
                "step": part.step,
                **({"final_pushes": list(part.final_pushes)} if part.final_pushes else {}),
                "schedule": part.schedule.name if part.schedule else None,
                "horizon": part.schedule.horizon if part.schedule else None,
                "mechanism": part.mechanism.name if part.mechanism else None,
                "leaves": part.mechanism.leaves if part.mechanism else None,
                "pushes": _listed(part.pushes(release.width)),
                "sigma": part.privacy.sigma,
                "epsilon": str(part.privacy.epsilon),
                "delta": part.privacy.delta,
                "relation": part.privacy.relation,
                "calibration": part.privacy.calibration,
                "max_weight": part.privacy.max_weight,
                "max_events_per_user": part.privacy.max_events_per_user,
                **({"run": [part.run.epsilon, part.run.delta, str(part.run)]} if part.run else {}),
                **({"people": str(part.privacy.person_bound)} if part.privacy.person_bound else {}),
            }
            for part in release.parts
        ],
    }


def main() -> None:
    """Write every golden release and its expected content."""
    for name, make in GOLDEN.items():
        release = make()
        (FOLDER / f"{name}.lzs").write_bytes(release.to_bytes())
        content = json.dumps(expected(release), indent=1)
        (FOLDER / f"{name}.json").write_text(content + "\n")


if __name__ == "__main__":
    main()
