"""What makes a model of a system, without a bug or with one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

__all__ = ["ModelMaker"]

AnyBug = TypeVar("AnyBug", bound=Enum)


@dataclass(frozen=True)
class ModelMaker(Generic[AnyBug]):
    """A maker of models with one bug.

    Args:
        bug: the bug, or None.
    """

    bug: AnyBug | None = None

    @property
    def name(self) -> str:
        """The name in findings."""
        return f"planted: {self.bug.value}" if self.bug else "model without a bug"
