"""Planted bugs of pipelines: several statistics under one guarantee."""

from __future__ import annotations

from typing import Final

from tests.planted.edits import edited
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_PIPELINES"]

_SPLIT: Final = "lazysketch.pipelines.shares:split_privacy"
_WITHIN: Final = (
    "tests/unit/pipelines/test_pipeline.py::test_all_parts_stay_within_the_guarantee"
    "[1.0-1e-06-substitution]"
)

BUGS_OF_PIPELINES: Final = (
    PlantedBug(
        name="parts-with-the-whole-privacy",
        subject="accounting",
        claim="Every part of a pipeline is calibrated for the privacy of all parts together.",
        caught_by=_WITHIN,
        patch=edited(_SPLIT, ("return pairs(fits)", "return [(epsilon, delta)] * len(shares)")),
    ),
    PlantedBug(
        name="parts-at-the-scale-that-exceeds",
        subject="accounting",
        claim="The scale of all mu is the last one at which the guarantee does not hold.",
        caught_by=_WITHIN,
        patch=edited(_SPLIT, ("return pairs(fits)", "return pairs(exceeds)")),
    ),
    PlantedBug(
        name="pipeline-of-its-first-part",
        subject="accounting",
        claim="The guarantee of a pipeline is that of its first part.",
        caught_by=_WITHIN,
        patch=edited(
            "lazysketch.pipelines.shares:together",
            ("for live in parts", "for live in [*parts][:1]"),
        ),
    ),
    PlantedBug(
        name="recovered-pipeline-of-its-first-part",
        subject="durable state",
        claim="After a crash the rows of a pipeline are counted in its first part alone.",
        caught_by="tests/unit/store/test_stored_pipelines.py::test_restarts_change_nothing[rows-1]",
        patch=edited(
            "lazysketch.store.recovered_objects:RecoveredObjects._add",
            ("in call.divided()", "in call.divided()[:1]"),
        ),
    ),
    PlantedBug(
        name="pipeline-divided-anew-in-each-life",
        subject="durable state",
        claim="How the privacy of a stored pipeline is divided is not kept.",
        caught_by=(
            "tests/unit/store/test_stored_pipelines.py::test_the_split_is_that_of_the_first_life"
        ),
        patch=edited(
            "lazysketch.store.pipelines_by_name:PipelinesByName.pipeline",
            ("if noted is None:", "if True:"),
        ),
    ),
)
