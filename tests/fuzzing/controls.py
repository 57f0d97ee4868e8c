"""Planted defects: a class that does each of the wrong things, which the twins must detect."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from random import Random
from typing import Final

from tests.fuzzing.live_classes import Family
from tests.fuzzing.operations import Box, called
from tests.fuzzing.twins import session as session_of_twins
from tests.fuzzing.verdicts import KINDS, Finding, Kind

import lazysketch as ls
from lazysketch.errors import ItemError

__all__ = ["PLANTED", "session"]

PLANTED: Final = KINDS


class Careless:
    """A sketch of items one by one that handles an invalid item wrongly."""

    def __init__(self, kind: Kind) -> None:
        """Choose the defect."""
        self.kind, self.inner = kind, ls.CountMin(depth=1, width=8, hash_seed=1)

    def update_many(self, items: object) -> None:
        """Count items; after an invalid one do what is planted."""
        given = list(items) if isinstance(items, (list, tuple)) else []
        if self.kind != "half applied":
            try:
                self.inner.update_many(given)
            except ItemError:
                self._planted(given)
                raise
            return
        for item in given:
            self.inner.update(item)

    def _planted(self, items: list[object]) -> None:
        if self.kind == "crash":
            os.abort()
        if self.kind == "hang":
            time.sleep(600)
        if self.kind == "wrong class":
            raise TypeError("no item")
        raise ItemError(f"items: expected items, got {items!r:.500}")


def session(
    kind: Kind, name: str, *, beat: Callable[[int], None], kept: Collection[int] | None = None
) -> tuple[int, list[Finding]]:
    """Make a session with a class that has the defect."""

    def make(_: Random) -> Callable[[], Box]:
        return lambda: Box(Careless(kind))

    family = Family(
        f"planted {kind}",
        make,
        (called("update_many", "items"),),
        (lambda live: live.inner.table,),
        lambda live: None,
    )
    return session_of_twins(family, name, beat=beat, kept=kept)
