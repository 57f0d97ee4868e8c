"""Planted bugs of releases in the core: what merging keeps, and what their files hold."""

from __future__ import annotations

from typing import Final

from tests.planted.planted_bug import PlantedBug

_MERGING: Final = "tests/unit/releases/test_release.py::"

BUGS_OF_RELEASES: Final = (
    PlantedBug(
        name="a-sketch-merged-with-itself",
        subject="reuse of draws",
        claim=(
            "Two releases of one sketch merge: their noise does not add up, and their "
            "difference is known."
        ),
        caught_by=_MERGING + "test_one_sketch_is_not_merged_twice[LazyCountMin]",
    ),
    PlantedBug(
        name="merge-forgets-the-other-parts",
        subject="accounting",
        claim="A merged release states the guarantee of its first part only.",
        caught_by=_MERGING + "test_merging_adds[CountMin]",
    ),
    PlantedBug(
        name="far-counts-cut",
        subject="durable state",
        claim="The file of a release has 32 bits of a count that is far from those of its block.",
        caught_by="lib release::cell_blocks::tests::cells_are_read_as_they_were_written",
    ),
)
