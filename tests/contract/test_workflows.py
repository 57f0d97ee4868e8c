"""Workflows of CI: valid, pinned, without rights that they do not need, in step with the house.

None is run here. Schemas and rules are part of the packages that check them: no network.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.locations import ROOT

FOLDER = ROOT / ".github/workflows"
FILES = {path.stem: path.read_text("utf-8") for path in sorted(FOLDER.glob("*.yml"))}
ACTION = re.compile(r"uses: (?P<name>[\w./-]+)@(?P<at>\S+)(?P<comment>[^\n]*)")
# What more than reading the repository is for; anything else has to be argued for here.
RIGHTS = {
    ("release", "attest"): {"attestations": "write", "id-token": "write"},
    ("release", "index"): {"id-token": "write"},
    ("release", "page"): {"contents": "write"},
}


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def parsed(text: str) -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe", pure=True).load(text)
    return found


JOBS = [
    (stem, name, job) for stem, text in FILES.items() for name, job in parsed(text)["jobs"].items()
]


def unpinned(text: str) -> list[str]:
    """Actions that are not named by a whole commit hash with the version next to it."""
    named = re.findall(r"uses: ([^\s.]\S*[^\n]*)", text)
    return [
        line
        for line in named
        if not re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)
    ]


def checker(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).with_name(program)), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_workflows_are_there() -> None:
    assert set(FILES) == {"nightly", "release", "test", "wheels"}


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-workflows", sorted(FOLDER.glob("*.yml"))),
        ("vendor.dependabot", [ROOT / ".github/dependabot.yml"]),
    ],
)
def test_files_are_valid_by_schema(schema: str, files: list[Path]) -> None:
    done = checker("check-jsonschema", "--builtin-schema", schema, *map(str, files))
    assert done.returncode == 0, done.stdout + done.stderr


def test_rules_of_security_find_nothing() -> None:
    """Templates in commands, credentials that stay, rights that are too wide, and others."""
    done = checker("zizmor", "--offline", "--no-progress", "--format=plain", ".github")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", FILES)
def test_actions_are_pinned_by_hash(name: str) -> None:
    assert unpinned(FILES[name]) == []


@pytest.mark.parametrize(
    "line",
    [
        "uses: actions/checkout@v7",
        "uses: actions/checkout@v7.0.1 # v7.0.1",
        f"uses: actions/checkout@{'a' * 39} # v7.0.1",
        f"uses: actions/checkout@{'a' * 40}",
        f"uses: actions/checkout@{'a' * 40} # v7",
    ],
)
def test_an_action_that_can_move_is_found(line: str) -> None:
    assert len(unpinned(f"      - {line}\n")) == 1


def test_an_action_has_one_version() -> None:
    found: dict[str, set[tuple[str, str]]] = {}
    for text in FILES.values():
        for one in ACTION.finditer(text):
            found.setdefault(one["name"], set()).add((one["at"], one["comment"]))
    assert len(found) == 7
    assert {name: versions for name, versions in found.items() if len(versions) > 1} == {}


@pytest.mark.parametrize(("stem", "name", "job"), JOBS)
def test_jobs_have_few_rights_and_an_end(stem: str, name: str, job: dict[str, Any]) -> None:
    assert parsed(FILES[stem])["permissions"] == {}
    assert job["permissions"] == RIGHTS.get((stem, name), {"contents": "read"})
    if "uses" not in job:  # a workflow that is called has the limits of its own jobs
        assert 0 < job["timeout-minutes"] < 360
    for step in job.get("steps", []):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_what_publishes_waits_for_a_person_and_for_the_tests() -> None:
    jobs = parsed(FILES["release"])["jobs"]
    needs = {name: job.get("needs") for name, job in jobs.items()}
    order = ["version", "wheels", "tests", "attest", "index", "page"]
    assert needs == dict(zip(order, [None, *order], strict=False))
    assert jobs["index"]["environment"] == "pypi"
    assert not re.search(r"secrets\.|password:", "".join(FILES.values()))


def test_targets_and_files_that_commands_name_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    called = {
        word
        for text in FILES.values()
        for line in re.findall(r"run: make ([^\n]+)", text)
        for word in line.split()
        if "=" not in word
    }
    assert {"test", "test-long", "mutants", "planted", "fuzz", "faults"} <= called <= targets
    named = {
        path
        for text in FILES.values()
        for path in re.findall(r"(?<![\w/])(?:requirements|tools|tests)/[\w./-]+", text)
    }
    assert named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_pythons_are_those_of_the_classifiers() -> None:
    stated = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', read("pyproject.toml"))
    jobs = parsed(FILES["test"])["jobs"]
    assert jobs["wheel-tests"]["strategy"]["matrix"]["python"] == stated
    assert jobs["free-threaded"]["steps"][1]["with"]["python-version"] == f"{stated[-1]}t"
    for job in ("linux", "desktop"):
        matrix = parsed(FILES["wheels"])["jobs"][job]["strategy"]["matrix"]
        assert matrix["python"] == [stated[0], f"{stated[-1]}t"]


def test_maturin_is_that_of_the_lock_file() -> None:
    locked = re.findall(r"^maturin==(\S+)", read("requirements/demo.txt"), re.MULTILINE)
    assert re.findall(r"maturin-version: v(\S+)", FILES["wheels"]) == locked


def test_pre_commit_calls_a_target() -> None:
    hooks = parsed(read(".pre-commit-config.yaml"))["repos"]
    assert [hook["entry"] for repo in hooks for hook in repo["hooks"]] == ["make lint"]
    assert all(repo["repo"] == "local" for repo in hooks)
