"""Plants a bug of the package before pytest collects its tests: ``-p tests.planted.plugin``."""

from __future__ import annotations

import os

import pytest
from tests.planted.catalogue import BUGS
from tests.planted.planted_bug import SWITCH


def pytest_configure() -> None:
    """Patch the package if the environment names one of its bugs."""
    name = os.environ.get(SWITCH)
    for bug in BUGS:
        if bug.name == name and bug.patch is not None:
            bug.patch(pytest.MonkeyPatch())
