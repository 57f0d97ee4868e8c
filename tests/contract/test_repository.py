"""Properties of the repository: file sizes, names, no machine paths, consistent versions."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from importlib.metadata import requires, version
from pathlib import Path

import pytest
from tests.locations import ROOT

GENERATED = {".git", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache"} | {
    ".tools",
    ".venv",
    "__pycache__",
    "build",
    "target",
}
CODE = {".py", ".rs"}  # a stub is one list of signatures per module
MOST_LINES = 420
# Names that say nothing about the contents.
EMPTY_NAMES = {"common", "helper", "helpers", "manager", "misc", "util", "utils"}
# Concatenated, so that this file passes its own check.
HOSTS = ["pypi" + ".org", "python" + "hosted", "crates" + ".io", "npmjs" + ".", "golang" + ".org"]
# A request line of a web log may contain such a path; a machine path does not follow a method.
MACHINE_PATH = re.compile(
    r"(?<!GET )(?<!POST )(?<![\w./-])(?:/(?:root|work|Users|mnt)/|/home/\w+/|[A-Z]:\\Users)"
)


def files() -> list[Path]:
    """The files of the repository, from git, or else all files that are not generated."""
    try:
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        names = [ROOT / name for name in listed.stdout.split("\0") if name]
        return sorted(path for path in names if path.is_file())
    except (OSError, subprocess.CalledProcessError):
        pass  # git is missing, or this is not a clone
    found = []
    for folder, folders, names_here in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in GENERATED]
        found += [Path(folder, name) for name in names_here]
    return sorted(found)


def text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


FILES = files()
TEXTS = {name_of(path): text_of(path) for path in FILES}
LOCKS = {"Cargo.lock"} | {
    f"requirements/{name}.txt"
    for name in ("bench", "demo", "develop", "engines", "mutants", "tools", "wheel")
}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def only(pattern: str, text: str) -> str:
    found = re.findall(pattern, text, re.MULTILINE)
    assert len(found) == 1, f"{pattern}: {found}"
    return str(found[0])


def test_files_fit_a_reader() -> None:
    long = {
        name_of(path): lines
        for path in FILES
        if path.suffix in CODE and (lines := text_of(path).count("\n")) > MOST_LINES
    }
    assert not long


def test_names_say_something() -> None:
    empty = [
        name_of(path)
        for path in FILES
        if EMPTY_NAMES & {part.split(".")[0] for part in path.relative_to(ROOT).parts}
    ]
    assert not empty


def test_no_machine_paths() -> None:
    traces = {
        name: found[0] for name, text in TEXTS.items() if (found := MACHINE_PATH.search(text))
    }
    assert not traces


@pytest.mark.parametrize(
    ("text", "caught"),
    [
        ("cd /" + "root/lazysketch", True),
        ('"/' + 'home/someone/lazysketch"', True),
        ('"GET /' + 'home/page/ HTTP/1.1"', False),
        ("rust/core/src and docs/" + "work/plan", False),
    ],
)
def test_machine_paths_are_recognised(text: str, *, caught: bool) -> None:
    assert bool(MACHINE_PATH.search(text)) == caught


def test_no_registry_hosts_outside_lock_files() -> None:
    named = [
        (name, host)
        for name, text in TEXTS.items()
        if name not in LOCKS
        for host in HOSTS
        if host in text
    ]
    assert not named


def test_python_lock_files_name_no_index_and_pin_everything() -> None:
    for name in sorted(LOCKS - {"Cargo.lock"}):
        text = read(name)
        assert "://" not in text, name
        assert not re.search(r"^(-i|--\w*index|--find-links)", text, re.MULTILINE), name
        pins = re.findall(r"^[a-z0-9][^\n]*", text, re.MULTILINE)
        assert pins, name
        assert all(re.match(r"[a-z0-9._-]+==\S+", pin) for pin in pins), name
        assert text.count("--hash=sha256:") >= len(pins), name


def wanted(name: str) -> set[str]:
    """The packages that a requirements/*.in file names."""
    return set(re.findall(r"^([a-z][a-z0-9-]*)", read(name), re.MULTILINE))


def test_lock_files_contain_the_packages_of_their_sources() -> None:
    for name in ("demo", "develop", "engines", "wheel"):
        pinned = set(re.findall(r"^([a-z0-9-]+)==", read(f"requirements/{name}.txt"), re.MULTILINE))
        assert wanted(f"requirements/{name}.in") <= pinned, name


def of_extra(asked: Iterable[str], extra: str) -> set[str]:
    """The packages of an extra, without the extras that it includes."""
    lines = [line.replace("'", '"') for line in asked]
    found = {re.split(r"[^\w-]", line)[0] for line in lines if f'extra == "{extra}"' in line}
    return found - {"lazysketch"}


def test_direct_dependencies_stay_few() -> None:
    """The library depends on numpy, the command on four packages, plots on one, serve on six.

    Engines need one package each, and what reads columns.
    """
    asked = requires("lazysketch") or []
    library = {re.split(r"[^\w-]", line)[0] for line in asked if "extra" not in line}
    extras = {
        "arrow": {"pyarrow"},
        "cli": {"click", "rich", "tomli"},
        "kafka": {"confluent-kafka", "pyarrow"},
        "plot": {"matplotlib"},
        "spark": {"pandas", "pyarrow", "pyspark"},
        "serve": {
            "cryptography",
            "httptools",
            "prometheus-client",
            "starlette",
            "uvicorn",
            "uvloop",
        },
    }
    assert library == {"numpy"}
    assert {extra: of_extra(asked, extra) for extra in extras} == extras
    assert library | extras["arrow"] | extras["cli"] <= wanted("requirements/demo.in")
    assert extras["plot"] <= wanted("requirements/tools.in")
    assert extras["kafka"] | extras["spark"] <= wanted("requirements/demo.in") | wanted(
        "requirements/engines.in"
    )
    assert extras["serve"] <= wanted("requirements/develop.in")


def test_versions_agree() -> None:
    number = only(r'^version = "([^"]+)"', read("Cargo.toml").split("[workspace.dependencies]")[0])
    assert version("lazysketch") == number
    assert only(r"^version: (\S+)", read("CITATION.cff").replace('"', "")) == number
    released = re.findall(r"^## \[(\d[^\]]*)\]", read("CHANGELOG.md"), re.MULTILINE)
    assert released, "CHANGELOG.md has no released version"
    assert released[0] == number
    for crate in (
        "rust/core",
        "rust/capture",
        "rust/text",
        "rust/store",
        "rust/binding",
        "benches/rust",
    ):
        assert "version.workspace = true" in read(f"{crate}/Cargo.toml"), crate


def test_minimum_versions_agree() -> None:
    """The oldest supported Python is the same in four places."""
    assert only(r'^requires-python = ">=(.+)"', read("pyproject.toml")) == "3.10"
    assert "abi3-py310" in read("rust/binding/Cargo.toml")
    assert "--python-version 3.10" in read("Makefile")
    assert "python3 >= 3.10" in read(".ci/check-tools")


def test_scripts_can_be_run() -> None:
    for name in (".ci/run", ".ci/check-tools"):
        assert os.access(ROOT / name, os.X_OK), name


def test_randomness_enters_through_one_file() -> None:
    """Only one file of the core asks the operating system for random bytes."""
    asking = [
        name
        for name, text in TEXTS.items()
        if name.startswith("rust/") and name.endswith(".rs") and "getrandom::" in text
    ]
    assert len(asking) == 1, asking


def test_files_with_unsafe_code_are_those_of_the_document() -> None:
    passage = only(r"is `unsafe` exists in([^;]+;[^;]+?)\.\n- ", read("docs/testing.md"))
    sources = {name: text for name, text in TEXTS.items() if re.match(r"rust/\w+/src/", name)}
    found = {Path(name).name for name, text in sources.items() if "allow(unsafe_code" in text}
    assert found == set(re.findall(r"`(\w+\.rs)`", passage))


def test_privacy_arithmetic_needs_no_native_code() -> None:
    """The amount of noise is computed in Python only, where it can be reviewed in isolation."""
    for name, text in TEXTS.items():
        if name.startswith("python/lazysketch/privacy/"):
            assert not re.search(r"^ *(from|import)\b.*_native", text, re.MULTILINE), name


def test_licence_is_apache() -> None:
    assert "Version 2.0, January 2004" in read("LICENSE")
    assert 'license = "Apache-2.0"' in read("pyproject.toml")
    assert 'license = "Apache-2.0"' in read("Cargo.toml")


def test_the_map_of_the_house_names_every_folder_once() -> None:
    text = text_of(ROOT / "CONTRIBUTING.md").partition("## The house")[2].partition("\n## ")[0]
    rows = [row.split("|")[1] for row in text.splitlines() if row.startswith("| `")]
    named = sorted(name for row in rows for name in re.findall(r"`([^`]+)`", row))
    assert named == sorted({name_of(path).split("/")[0] for path in files() if path.parent != ROOT})
