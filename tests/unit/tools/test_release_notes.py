"""The text of a release page, and the refusal of a tag that is not the version."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.locations import ROOT
from tools.release_notes import notes

CARGO = '[workspace.package]\nversion = "1.2.3"\n[workspace.dependencies]\n'
CHANGELOG = """# Changelog

## [Unreleased]

- later

## [1.2.3] - 2030-01-01

### Fixed

- this

## [1.2.2] - 2029-01-01

- before
"""


def test_the_notes_are_the_part_of_the_version() -> None:
    assert notes("v1.2.3", cargo=CARGO, changelog=CHANGELOG) == "### Fixed\n\n- this"


@pytest.mark.parametrize("tag", ["1.2.3", "v1.2.2", "v1.2.3rc1", "", "v"])
def test_a_tag_that_is_not_the_version_is_refused(tag: str) -> None:
    with pytest.raises(ValueError, match=r"tag: expected v1\.2\.3, .*, got " + tag):
        notes(tag, cargo=CARGO, changelog=CHANGELOG)


@pytest.mark.parametrize(
    "text", ["", "## [1.2.3]\n\n## [1.2.2]\n\n- before\n", "## [11.2.3]\n\n- x"]
)
def test_a_release_without_a_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"changelog: expected a part ## \[1\.2\.3\]"):
        notes("v1.2.3", cargo=CARGO, changelog=text)


def test_the_program_refuses_with_one_line() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/release_notes.py"), "v0.0.0"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("tag: expected v")
    assert done.stderr.count("\n") == 1
