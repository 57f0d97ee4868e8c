"""Runs of ``lazysketch estimate`` over topics, with states, in a folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from lazysketch.cli import main


class Runs:
    """Runs of ``lazysketch estimate`` with states, in a folder."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd
        self.folder = folder
        (folder / "items.txt").write_text("".join(f"item {n}\n" for n in range(6)))

    def words(self, state: str, *words: str) -> list[str]:
        kept = ["--state", state, "--anchor", f"{state}.anchor", "--key-file", "key"]
        return ["estimate", *words, "--items", "items.txt", "--output", "json", *kept]

    def run(self, state: str, *words: str, status: int = 0) -> Any:
        assert main(self.words(state, *words)) == status, self._capfd.readouterr().err
        found = self._capfd.readouterr()
        self.said = found.err
        if status:
            return None
        result = json.loads(found.out)
        return result["items"], result["steps"]

    def copy(self, state: str, to: str) -> None:
        """Copy a state and its anchor, so that two runs have the same noise."""
        shutil.copytree(self.folder / state, self.folder / to)
        shutil.copy(self.folder / f"{state}.anchor", self.folder / f"{to}.anchor")
