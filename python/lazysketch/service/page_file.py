"""The page of a stream as one file with its data inside, for mail and archives.

It is the page that the service serves: its scripts, styles and chart library become part of the
file, and a policy that names each of them by its SHA-256 lets the browser run nothing else and
fetch nothing.

Cost: the size of the files of the page, about 140 KB.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Final

__all__ = ["BEGINNING", "MODULES", "standalone_page"]

# The modules in the order of their imports: each after those that it imports.
MODULES: Final = (
    "dom.js",
    "text.js",
    "kinds.js",
    "histogram.js",
    "live.js",
    "parts.js",
    "sums_table.js",
    "top_list.js",
    "course.js",
    "alerts.js",
    "sections.js",
    "tree.js",
    "stream.js",
    "index_cards.js",
    "page.js",
)
# The first bytes of such a file, as of no other.
BEGINNING: Final = b"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="lazysketch">
"""
_IMPORT: Final = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=async |class |const |function |let )", re.MULTILINE)
# Links to what the service has, and the elements that are replaced.
_OUTSIDE: Final = re.compile(
    r'^<script[^>]* src="/assets/[^"]*"></script>\n'
    r'|^<link rel="(?:stylesheet|modulepreload)"[^>]*>\n'
    r"|^<noscript>.*</noscript>\n|^ *<p class=\"crumb\".*</p>\n",
    re.MULTILINE,
)
_END_OF_BODY: Final = "</body>\n"
# JSON in a script element ends at "</script", and a comment in it begins at "<!--".
_ESCAPES: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def standalone_page(overview: Mapping[str, object]) -> bytes:
    """Return a page that shows an overview without the service.

    Guarantee: post-processing of released values, if those of the overview are.

    Args:
        overview: the content of ``/v1/streams/{name}/overview``. Windows of a run have steps, and
            not instants, as ``begin`` and ``end``; facts that it does not have are not shown.

    Returns:
        A document of HTML in UTF-8.

    Raises:
        ValueError: a value that JSON does not have, such as an infinite count.
    """
    styles = [_read(name) for name in ("uplot.css", "page.css")]
    # The licence of the library goes where a copy of it goes.
    scripts = [_read("theme.js"), f"/*\n{_read('LICENSE-uplot.txt')}*/\n{_read('uplot.js')}"]
    module = _joined()
    hashed = " ".join(map(_hash, [*scripts, module]))
    policy = (
        f"default-src 'none'; script-src {hashed}; style-src {' '.join(map(_hash, styles))}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    head += "".join(f"<style>{style}</style>\n" for style in styles)
    head += "".join(f"<script>{script}</script>\n" for script in scripts)
    content = json.dumps(overview, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)
    body = f'<script type="application/json" id="overview">{content}</script>\n'
    body += f'<script type="module">{module}</script>\n'
    page = _OUTSIDE.sub("", _read("index.html"))
    page = page.replace("<title>", f"{head}<title>", 1).replace(
        _END_OF_BODY, body + _END_OF_BODY, 1
    )
    return page.encode()


def _joined() -> str:
    """Return all modules as one: names at the top of a module are unique among all of them."""
    parts = [_EXPORT.sub("", _IMPORT.sub("", _read(name))) for name in MODULES]
    return "".join(parts)


def _read(name: str) -> str:
    from importlib.resources import files  # late: every run of a command knows BEGINNING

    return (files("lazysketch.service") / "page" / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    import hashlib  # late: few runs write a page

    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
