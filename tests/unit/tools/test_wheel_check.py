"""A wheel that needs a newer system than its name says is found."""

from __future__ import annotations

import pytest
from tools.wheel_check import faults

PLATFORM = "manylinux_2_17_x86_64"
NAME = "lazysketch-1.2.3-cp310-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
FOUND = f"""
{NAME}
is consistent with the following platform tag:
"manylinux_2_17_x86_64".
"""
MEMBERS = ["lazysketch-1.2.3.dist-info/sboms/lazysketch-binding.cyclonedx.json"]


def test_a_wheel_for_old_systems_passes() -> None:
    assert faults(NAME, platform=PLATFORM, found=FOUND, members=MEMBERS) == []


@pytest.mark.parametrize(
    ("name", "found", "members", "start"),
    [
        (NAME.replace("2_17", "2_35"), FOUND, MEMBERS, "name: expected manylinux_2_17_x86_64"),
        (NAME, FOUND.replace("2_17", "2_35"), MEMBERS, "symbols: expected"),
        (NAME, "", MEMBERS, "symbols: expected"),
        (NAME, FOUND, ["lazysketch/__init__.py"], "components: expected"),
    ],
)
def test_each_fault_is_named(name: str, found: str, members: list[str], start: str) -> None:
    # The analysis repeats the name, which must not stand for the finding.
    wrong = faults(name, platform=PLATFORM, found=found, members=members)
    assert len(wrong) == 1
    assert wrong[0].startswith(start)
