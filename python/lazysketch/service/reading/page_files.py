"""The files of the page, as readers get them."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Final

__all__ = ["page_files"]

_KINDS: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


def page_files() -> dict[str, tuple[bytes, str, str]]:
    """Return the files of the page, with their types and tags."""
    found = {}
    for path in files("lazysketch.service").joinpath("page").iterdir():
        kind = _KINDS.get(f".{path.name.rpartition('.')[2]}")
        if kind is not None and path.is_file():
            content = path.read_bytes()
            found[path.name] = content, kind, f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    return found
