"""Counting over restarts without any secret on the disk: public releases of every life, summed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from lazysketch.arguments import shown
from lazysketch.errors import ArgumentTypeError, ArgumentValueError, StoreError
from lazysketch.heavy_hitters.heavy_hitters import HeavyHitters
from lazysketch.heavy_hitters.hitters_spec import HeavyHittersSpec
from lazysketch.releases.periodic import PeriodicSaves
from lazysketch.releases.release import Release
from lazysketch.sketches.counters import ContinualCounters
from lazysketch.sketches.live_state import ClosedByBlock, LiveState
from lazysketch.sketches.private_sketches import (
    LazyCountMin,
    LazyCountSketch,
    PunctualCountMin,
    PunctualCountSketch,
)
from lazysketch.specification.schedules import Punctual
from lazysketch.specification.table_spec import TableSpec
from lazysketch.store.spent import Spent, part_of, plain_privacy

__all__ = ["ReleasesOnly"]

Sketch: TypeAlias = (
    LazyCountMin
    | LazyCountSketch
    | PunctualCountMin
    | PunctualCountSketch
    | ContinualCounters
    | HeavyHitters
)


class ReleasesOnly(ClosedByBlock, LiveState):
    """A fresh sketch in each life of a process; its public releases are kept in one file.

    For those who may not keep a key or exact counts: no secret is ever on the disk, so none can be
    stolen or put back. Noise is never used twice. In return every life spends the whole guarantee
    and adds its noise, and what a life has not published when it ends is missing. With a bound of
    people everyone may contribute up to the bound in each life, which the account covers.

    Guarantee: that of :attr:`spent`. A life is in the file, and so in the account, before its
    sketch can count anything.

    Args:
        path: the release file; made if it is missing. One process at a time uses it.
        spec: description of the sketch, or of heavy hitters; the same in every life.
        seconds: from one save to the next while a ``with`` block runs, above 0.

    Attributes:
        sketch: the live sketch of this life.

    Raises:
        ArgumentTypeError: a wrong type.
        ArgumentValueError: ``seconds`` outside its range, or a file of another description.
        ReleaseFormatError: a file that is not a release.
        OSError: the file cannot be read or written.

    Source: docs/operations.md.

    Example:
        >>> import pathlib, tempfile
        >>> import lazysketch as ls
        >>> path = pathlib.Path(tempfile.mkdtemp(), "counts.lzs")
        >>> spec = ls.TableSpec(
        ...     kind="count-min", depth=3, width=64, schedule=ls.Geometric(),
        ...     epsilon=1.0, delta=1e-8,
        ... )
        >>> for _ in range(2):
        ...     with ls.ReleasesOnly(path, spec) as life:
        ...         life.sketch.update_many(["/a"] * 500)
        >>> release = ls.Release.load(path)
        >>> release.step, len(release.parts)
        (1000, 2)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        spec: TableSpec | HeavyHittersSpec,
        *,
        seconds: float = 60.0,
    ) -> None:
        if not isinstance(spec, (TableSpec, HeavyHittersSpec)):
            got = type(spec).__name__
            raise ArgumentTypeError(f"spec: expected a TableSpec or a HeavyHittersSpec, got {got}")
        self._path = Path(path)
        self._earlier = Release.load(path) if self._path.exists() else None
        self._saves = PeriodicSaves(self._to_save, path, seconds=seconds)
        seed = None if self._earlier is None else self._earlier.hash_seed
        self.sketch = _fresh(spec, seed)
        if self._earlier is not None:
            self._check_earlier(self._earlier)
        # Not only with the first save: what is read before it is published as well.
        self.release().save(path)

    def __enter__(self) -> ReleasesOnly:
        self._saves.start()
        return self

    def release(self) -> Release:
        """Return the sum of the releases of all lives, of this one as of now.

        Guarantee: post-processing of releases.

        Raises:
            ClosedError: after ``close()``.
            LiveStateError: called in a forked child process.
        """
        release = self.sketch.release()
        return release if self._earlier is None else self._earlier.merge(release)

    def save(self) -> None:
        """Save the sum now; a ``with`` block does it at regular times, and at its end.

        Raises:
            StoreError: another process wrote the file, whose life would be lost.
            OSError: the file cannot be written.
        """
        self._saves.save()

    def close(self) -> None:
        """Save the sum, and destroy the sketch; without ``finish()`` what is pending is lost."""
        self._saves.stop()
        try:
            self._saves.save()
        finally:
            self.sketch.close()

    @property
    def failure(self) -> Exception | None:
        """What the last save in the background raised; None if it succeeded."""
        return self._saves.failure

    @property
    def spent(self) -> Spent:
        """The guarantees of all lives in the file together, this one included."""
        plain = plain_privacy(self.sketch)
        lives = 1 if self._earlier is None else 1 + len(self._earlier.parts)
        parts = tuple(part_of(self._path.name, life, plain) for life in range(lives))
        return Spent(parts, complete=True)

    def _to_save(self) -> Release:
        release = self.release()
        found = {part.sketch_id for part in Release.load(self._path).parts}
        if found != {part.sketch_id for part in release.parts}:
            raise StoreError(
                "path: expected the file that this process wrote, got one of another; give each "
                "process a file of its own, and merge the releases"
            )
        return release

    def _check_earlier(self, earlier: Release) -> None:
        release = self.sketch.release()
        same = (release.kind, release.depth, release.width) == (
            earlier.kind,
            earlier.depth,
            earlier.width,
        )
        if not same or any(part.privacy != release.privacy for part in earlier.parts):
            self.sketch.close()
            raise ArgumentValueError(
                "spec: expected the description of the lives in the file "
                f"{shown(self._path.name)}, got another"
            )


def _fresh(spec: TableSpec | HeavyHittersSpec, seed: int | None) -> Sketch:
    """Return a sketch with a fresh key, and with the hash seed of earlier lives."""
    if isinstance(spec, HeavyHittersSpec):
        table = spec.table if seed is None else replace(spec.table, hash_seed=seed)
        return HeavyHitters.from_spec(replace(spec, table=table))
    described = spec if seed is None else replace(spec, hash_seed=seed)
    if spec.kind in ("distinct", "values", "ranges"):
        raise ArgumentValueError(f"spec: expected one of counts of items, got kind {spec.kind!r}")
    if spec.kind == "counters":
        return ContinualCounters.from_spec(described)
    punctual = isinstance(spec.schedule, Punctual)
    kind: type[LazyCountMin | LazyCountSketch | PunctualCountMin | PunctualCountSketch]
    if spec.kind == "count-min":
        kind = PunctualCountMin if punctual else LazyCountMin
    else:
        kind = PunctualCountSketch if punctual else LazyCountSketch
    return kind.from_spec(described)
