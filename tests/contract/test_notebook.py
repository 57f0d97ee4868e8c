"""The notebook in examples/ is executed, and its committed output is what it says, up to noise."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.locations import ROOT

pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

from tools.executed_notebook import NOISE, executed, page_of

NOTEBOOK = ROOT / "examples" / "first_look.ipynb"
NUMBER = re.compile(r"-?\d[\d,]*(\.\d+)?([eE][+-]?\d+)?")


def results(notebook: dict[str, Any]) -> dict[str, str]:
    """Return the output of each cell of code; of private counts without the numbers."""
    found = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            text = json.dumps(cell["outputs"], sort_keys=True)
            noisy = NOISE in cell["metadata"].get("tags", [])
            text = re.sub(r'"execution_count": \d+', "", text)
            found[cell["id"]] = NUMBER.sub("0", text) if noisy else text
    return found


def test_it_runs_and_shows_what_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    committed = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert results(executed(NOTEBOOK, folder=tmp_path)) == results(committed)


def test_committed_counts_are_near_the_true_ones() -> None:
    """The noise of 200 000 visits is below 1 % of the count of a page."""
    committed = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    shown = {cell["id"]: cell.get("outputs") for cell in committed["cells"]}
    true_counts = dict(
        re.findall(r"'(/\w*)': (\d+)", "".join(shown["stream"][0]["data"]["text/plain"]))
    )
    table = "".join(shown["release"][0]["data"]["text/html"])
    rows = re.findall(r"<tr><td[^>]*>(/\w*)</td><td[^>]*>([\d,]+)</td>", table)
    assert len(rows) == 5
    for page, count in rows:
        assert abs(int(count.replace(",", "")) - int(true_counts[page])) < 2_000


def test_the_page_of_the_site_has_every_cell() -> None:
    committed = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    page = page_of(committed)
    assert page.startswith("# A first look\n")
    assert page.count("```python") == sum(c["cell_type"] == "code" for c in committed["cells"])
    assert page.count("<table>") == 2 + page.count("<caption>")
    assert "(1, 1e-08)-DP per event" in page
