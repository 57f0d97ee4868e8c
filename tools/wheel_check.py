"""Checks what a built wheel needs: ``python -m tools.wheel_check --platform TAG WHEEL``.

The name states the platform; auditwheel reads the versions of the symbols that the native module
asks for, and must find no newer system; the list of components is inside.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path


def faults(wheel: str, *, platform: str, found: str, members: Iterable[str]) -> list[str]:
    """Returns what is wrong with a wheel, one line each.

    Args:
        wheel: its file name.
        platform: the platform that is wanted, such as "manylinux_2_17_x86_64".
        found: what ``auditwheel show`` says of it.
        members: the names of the files in it.
    """
    wrong = []
    tags = wheel.removesuffix(".whl").rsplit("-", 1)[-1].split(".")
    if platform not in tags:
        wrong.append(f"name: expected {platform}, got {'.'.join(tags)}")
    # The text is broken into lines at blanks.
    said = " ".join(found.split())
    if f'consistent with the following platform tag: "{platform}"' not in said:
        wrong.append(f"symbols: expected {platform}, got: {said}")
    if not any("/sboms/" in name and name.endswith(".cyclonedx.json") for name in members):
        wrong.append("components: expected a CycloneDX file in dist-info/sboms, got none")
    return wrong


def main() -> int:
    """Prints what is wrong with one wheel; the exit status is 1 if anything is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--platform", required=True)
    parser.add_argument("wheel", type=Path)
    given = parser.parse_args()
    show = [str(Path(sys.executable).with_name("auditwheel")), "show", str(given.wheel)]
    found = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    with zipfile.ZipFile(given.wheel) as archive:
        members = archive.namelist()
    wrong = faults(given.wheel.name, platform=given.platform, found=found, members=members)
    print("\n".join(wrong) or f"{given.wheel.name}: runs on {given.platform}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
