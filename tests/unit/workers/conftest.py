"""A store in a temporary folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.store.lives import Lives


@pytest.fixture
def lives(tmp_path: Path) -> Lives:
    return Lives(tmp_path)
