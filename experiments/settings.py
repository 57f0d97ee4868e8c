"""Typed access to the tables of a TOML file: definitions, contenders, parameters of a measure."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Settings", "Value"]

Value = int | float | str
_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class Settings:
    """Named values of one table; a value that is missing or of another type raises ValueError.

    Args:
        values: as the file has them.
    """

    values: Mapping[str, object]

    @classmethod
    def read(cls, path: Path) -> Settings:
        """Read a TOML file."""
        with path.open("rb") as file:
            return cls(tomllib.load(file))

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str, default: str | None = None) -> str:
        """Return a string."""
        return self._checked(name, self.values.get(name, default), str, "a string")

    def integer(self, name: str, default: int | None = None) -> int:
        """Return an integer."""
        return self._checked(name, self.values.get(name, default), int, "an integer")

    def number(self, name: str, default: float | None = None) -> float:
        """Return an integer or float as a float."""
        return float(self._checked(name, self.values.get(name, default), (int, float), "a number"))

    def value(self, name: str) -> Value:
        """Return a number or string."""
        return self._scalar(name, self.values.get(name))

    def flag(self, name: str) -> bool:
        """Return a truth value, False if missing."""
        return self._checked(name, self.values.get(name, False), bool, "true or false")

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of strings."""
        return tuple(self._checked(name, each, str, "strings") for each in self._list(name))

    def integers(self, name: str) -> tuple[int, ...]:
        """Return a list of integers."""
        return tuple(self._checked(name, each, int, "integers") for each in self._list(name))

    def numbers(self, name: str) -> tuple[float, ...]:
        """Return a list of numbers as floats."""
        found = (self._checked(name, each, (int, float), "numbers") for each in self._list(name))
        return tuple(float(each) for each in found)

    def list_of_values(self, name: str) -> tuple[Value, ...]:
        """Return a list of numbers or strings."""
        return tuple(self._scalar(name, each) for each in self._list(name))

    def table(self, name: str) -> Settings:
        """Return a table, empty if missing."""
        return Settings(self._checked(name, self.values.get(name, {}), dict, "a table"))

    def tables(self, name: str) -> tuple[Settings, ...]:
        """Return a list of tables, empty if missing."""
        if name not in self.values:
            return ()
        found = (self._checked(name, each, dict, "tables") for each in self._list(name))
        return tuple(Settings(each) for each in found)

    def _list(self, name: str) -> Iterable[object]:
        found: Iterable[object] = self._checked(name, self.values.get(name), list, "a list")
        return found

    @staticmethod
    def _scalar(name: str, found: object) -> Value:
        if isinstance(found, bool) or not isinstance(found, (int, float, str)):
            raise ValueError(f"{name}: expected a number or string, got {type(found).__name__}")
        return found

    @staticmethod
    def _checked(
        name: str, found: object, kinds: type[_Kind] | tuple[type[_Kind], ...], wanted: str
    ) -> _Kind:
        if not isinstance(found, kinds) or (isinstance(found, bool) and kinds is not bool):
            raise ValueError(f"{name}: expected {wanted}, got {type(found).__name__}")
        return found
