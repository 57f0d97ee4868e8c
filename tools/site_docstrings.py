"""Docstrings as the reference of the site reads them; griffe loads this module (mkdocs.yml)."""

from __future__ import annotations

import re
from typing import Any

import griffe

__all__ = ["Docstrings"]


class Docstrings(griffe.Extension):
    """Reads ``Example:`` as ``Examples:``, whose content is code, and roles as plain code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of one object."""
        if obj.docstring:
            text = re.sub(
                r"^( *)Example:$", r"\1Examples:", obj.docstring.value, flags=re.MULTILINE
            )
            obj.docstring.value = re.sub(r":[a-z]+:`~?([^`]+)`", r"``\1``", text)
