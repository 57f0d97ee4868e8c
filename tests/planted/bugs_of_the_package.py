"""Planted bugs of the package: each is patched in the process of the tests."""

from __future__ import annotations

from tests.planted.planted_bug import PlantedBug

BUGS_OF_THE_PACKAGE: tuple[PlantedBug, ...] = ()
