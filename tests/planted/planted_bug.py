"""One planted bug: what is wrong, and the test that must fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pytest

Subject: TypeAlias = Literal[
    "reuse of draws",
    "distribution",
    "sensitivity",
    "schedule",
    "discovery",
    "accounting",
    "durable state",
    "page",
]
Patch: TypeAlias = Callable[[pytest.MonkeyPatch], None]

SWITCH = "PLANTED_BUG"
"""The environment variable that names the planted bug."""


@dataclass(frozen=True)
class PlantedBug:
    """A wrong idea.

    Args:
        name: the value of :data:`SWITCH`.
        subject: what it breaks.
        claim: what is wrong, in one sentence.
        caught_by: a test that fails: the id of a Python test, or the target and the path of a test
            of the core, such as ``lib noise::prf::tests::no_two_pairs_share_a_block``;
            the name of another crate stands before.
        patch: plants the bug in this process; None for a bug of the core.
    """

    name: str
    subject: Subject
    claim: str
    caught_by: str
    patch: Patch | None = None

    @property
    def in_core(self) -> bool:
        """True for a bug of a crate, which the cargo feature compiles in."""
        return self.patch is None

    @property
    def is_caught_by_core(self) -> bool:
        """True if ``caught_by`` is a test of a crate."""
        return ".py::" not in self.caught_by
