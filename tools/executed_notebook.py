"""The notebook of the documents: executes it and keeps its output, and makes it a page of the site.

    python -m tools.executed_notebook examples/first_look.ipynb

Cells with the tag "noise" show private counts, which differ in every run; see
tests/contract/test_notebook.py for what does not. Executing needs what requirements/develop.txt
installs, the page nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

__all__ = ["NOISE", "executed", "page_of"]

NOISE: Final = "noise"
_SECONDS: Final = 120  # for a cell


def executed(notebook: Path, *, folder: Path) -> dict[str, Any]:
    """Return a notebook with the output of a run in a new kernel.

    Args:
        notebook: The file, which stays as it is.
        folder: Where it runs.
    """
    import nbformat
    from nbclient import NotebookClient

    found = nbformat.read(notebook, as_version=4)
    NotebookClient(
        found,
        timeout=_SECONDS,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    found.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    result: dict[str, Any] = json.loads(nbformat.writes(found))
    return result


def page_of(notebook: Mapping[str, Any]) -> str:
    """Return a notebook as Markdown: text, code, and its output as HTML or text."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_output(output) for output in cell["outputs"]]
    return "\n\n".join(parts) + "\n"


def _output(output: Mapping[str, Any]) -> str:
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "text/html" in data:
        return f"<div>{''.join(data['text/html'])}</div>"
    return f"```text\n{''.join(data['text/plain']).rstrip()}\n```"


def main(path: Path) -> None:
    """Execute a notebook and write it with its output."""
    text = json.dumps(executed(path, folder=path.parent), indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
