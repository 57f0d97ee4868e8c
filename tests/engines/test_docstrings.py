"""The examples in docstrings of engines run, and every public name of Spark has one."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path
from typing import Any

import pytest
from tests.contract.test_documents_run import EXAMPLE_FLAGS

pytest.importorskip("pyspark")

import lazysketch.spark


def examples() -> dict[str, doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = []
    for module in pkgutil.iter_modules(lazysketch.spark.__path__, "lazysketch.spark."):
        found += finder.find(importlib.import_module(module.name), module.name)
    return {test.name: test for test in found if test.examples}


EXAMPLES = examples()


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_example_of_a_docstring_runs(
    name: str, session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert session is not None  # the one that the example gets
    monkeypatch.chdir(tmp_path)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=EXAMPLE_FLAGS)
    result = runner.run(EXAMPLES[name], out=report.append)
    assert result.failed == 0, "".join(report)


def test_every_public_name_has_an_example() -> None:
    for name in lazysketch.spark.__all__:
        found = getattr(lazysketch.spark, name)
        assert f"{found.__module__}.{name}" in EXAMPLES, name
