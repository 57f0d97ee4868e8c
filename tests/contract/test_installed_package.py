"""What an installed package needs and shows: declared imports, a clean environment, its page."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import metadata, requires, version
from pathlib import Path

import pytest
from readme_renderer.markdown import render
from ruamel.yaml import YAML
from tests.locations import ROOT

PACKAGE = ROOT / "python/lazysketch"
PLACE = "https://github.com/lazysketch/lazysketch/blob/main/"
PICTURES = "https://raw.githubusercontent.com/lazysketch/lazysketch/main/"
# A second opinion of the audit, which says that it is missing.
OFFERED = {"dp_accounting"}


def run_imports(code: ast.AST) -> Iterator[str]:
    """The packages that code imports when it runs: those for type checkers are left out."""
    for node in ast.iter_child_nodes(code):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from run_imports(ast.Module(node.orelse, []))
        elif isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]
        else:
            yield from run_imports(node)


def test_imports_for_type_checkers_are_told_apart() -> None:
    code = "if TYPE_CHECKING:\n    import a\nelse:\n    import b\ndef f():\n    from c.d import e\n"
    assert list(run_imports(ast.parse(code))) == ["b", "c"]


def test_what_is_imported_is_declared() -> None:
    """A package that other dependencies of a clone happen to install is not there for users."""
    declared = {
        re.split(r"[^\w-]", line)[0].replace("-", "_") for line in requires("lazysketch") or []
    }
    known = declared | set(sys.stdlib_module_names) | OFFERED | {"tomllib"}
    missing = {
        (path.relative_to(PACKAGE).as_posix(), name)
        for path in PACKAGE.rglob("*.py")
        for name in run_imports(ast.parse(path.read_text("utf-8")))
        if name not in known
    }
    assert missing == set()


@pytest.mark.long
def test_the_wheel_runs_in_a_clean_environment(tmp_path: Path) -> None:
    """Made by the Python beneath this environment; the extra comes from the package index."""
    base = Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")
    (wheel,) = (ROOT / "build/wheels").glob("*.whl")
    subprocess.run([str(base), "-m", "venv", str(tmp_path / "clean")], check=True, timeout=120)
    python = tmp_path / "clean/bin/python"
    # A path to the source tree would be imported in place of the wheel.
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    install = [str(python), "-m", "pip", "install", "--quiet", f"{wheel}[cli]"]
    subprocess.run(install, env=clean, check=True, timeout=600)
    done = subprocess.run(
        [str(tmp_path / "clean/bin/lazysketch"), "demo"],
        cwd=tmp_path,
        env=clean,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "(1, 1e-08)-DP per event" in done.stdout


def test_the_conda_recipe_agrees_with_the_package() -> None:
    recipe = YAML(typ="safe", pure=True).load(
        (ROOT / "packaging/conda/recipe.yaml").read_text("utf-8")
    )
    assert recipe["context"]["version"] == version("lazysketch")
    asked = [line for line in requires("lazysketch") or [] if "extra ==" not in line]
    asked += [line for line in requires("lazysketch") or [] if re.search("extra == .cli.", line)]
    needs = {re.sub(r"[ ;].*", "", line).replace(">=", " >=") for line in asked}
    assert set(recipe["requirements"]["run"]) == {"python >=3.10", *needs}


def links(html: str) -> list[str]:
    return re.findall(r'(?:href|src)="([^"]*)"', html)


def test_the_long_description_renders_without_the_repository() -> None:
    html = render((ROOT / "README.md").read_text("utf-8"), variant="GFM")
    assert html is not None
    found = links(html)
    assert len(found) > 20
    assert [link for link in found if not re.match(r"https://|#", link)] == []
    assert "<table>" in html
    assert "<img" in html
    for link in found:  # what it names in the repository is there
        for place in (PLACE, PICTURES):
            if link.startswith(place):
                assert (ROOT / link.removeprefix(place).partition("#")[0]).exists(), link
    assert all(link.startswith(PICTURES) for link in re.findall(r'<img[^>]*src="([^"]*)"', html))


def test_the_installed_metadata_has_the_description_and_addresses() -> None:
    found = metadata("lazysketch")
    assert found["Description-Content-Type"].startswith("text/markdown")
    stated = re.findall(
        r'^(\w+) = "(https://[^"]+)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE
    )
    assert {name for name, _ in stated} >= {
        "Homepage",
        "Documentation",
        "Changelog",
        "Issues",
        "Source",
    }
