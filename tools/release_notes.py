"""The part of the changelog for one release: ``python3 tools/release_notes.py v1.2.3``.

The tag must be the version in Cargo.toml, and the changelog must have a part for it. Needs the
standard library only, because it runs before anything is installed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def notes(tag: str, *, cargo: str, changelog: str) -> str:
    """Returns the part of ``changelog`` for the release with this tag.

    Args:
        tag: "v" and the version.
        cargo: the text of Cargo.toml.
        changelog: the text of CHANGELOG.md.

    Raises:
        ValueError: if the tag is not the version of the workspace, or the changelog has no part
            for it with a text.
    """
    stated = re.search(r'^version = "([^"]+)"', cargo, re.MULTILINE)
    version = "" if stated is None else stated[1]
    if tag != f"v{version}":
        raise ValueError(f"tag: expected v{version}, the version in Cargo.toml, got {tag}")
    parts = re.split(r"^## \[([^\]]+)\][^\n]*\n", changelog, flags=re.MULTILINE)
    found = dict(zip(parts[1::2], parts[2::2], strict=True)).get(version, "").strip()
    if not found:
        raise ValueError(f"changelog: expected a part ## [{version}] with a text, got none")
    return found


if __name__ == "__main__":
    try:
        text = notes(
            " ".join(sys.argv[1:]),
            cargo=(ROOT / "Cargo.toml").read_text("utf-8"),
            changelog=(ROOT / "CHANGELOG.md").read_text("utf-8"),
        )
    except ValueError as error:
        sys.exit(str(error))
    print(text)
