"""Files for operators agree with the service: container, unit of systemd, dashboard.

No image is built and no unit is started here. The rules for the container file are those of
hadolint that concern safety and repeatable builds.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.locations import ROOT

from lazysketch.cli.group import lazysketch

PACKAGING = ROOT / "packaging"
OPTIONS = {option for one in lazysketch.commands["serve"].params for option in one.opts}


def instructions() -> list[tuple[str, str]]:
    """The instructions of the container file with their arguments, continued lines joined."""
    text = (PACKAGING / "Containerfile").read_text("utf-8")
    lines = [line for line in text.split("\n") if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [
        (name, rest.strip())
        for name, _, rest in (line.partition(" ") for line in joined.split("\n") if line)
    ]


def stages() -> list[list[tuple[str, str]]]:
    found: list[list[tuple[str, str]]] = []
    for one in instructions():
        if one[0] == "FROM":
            found.append([])
        found[-1].append(one)
    return found


def test_the_container_file_is_made_of_known_instructions() -> None:
    known = {
        *("FROM", "RUN", "WORKDIR", "COPY", "VOLUME", "USER", "ENV", "EXPOSE", "HEALTHCHECK"),
        *("STOPSIGNAL", "ENTRYPOINT", "CMD"),
    }
    assert {name for name, _ in instructions()} <= known
    assert len(stages()) == 2


def test_images_have_versions_and_packages_leave_no_lists() -> None:
    for name, rest in instructions():
        if name == "FROM":
            image, tag = rest.split()[0].rsplit(":", 1)
            assert image.startswith("docker.io/library/")
            assert re.match(r"[0-9]+\.[0-9]+", tag)
        if name == "RUN" and "apt-get install" in rest:
            assert "apt-get update &&" in re.sub(" +", " ", rest)
            assert "--no-install-recommends" in rest
            assert "rm -rf /var/lib/apt/lists/*" in rest
        assert "sudo" not in rest
        assert not re.search(r"curl .*\|", rest)


def test_the_compiler_is_not_older_than_the_crates_ask_for() -> None:
    asked = re.search(r'rust-version = "([0-9.]+)"', (ROOT / "Cargo.toml").read_text("utf-8"))
    given = re.search(r"library/rust:([0-9.]+)", dict(stages()[0])["FROM"])
    assert asked is not None
    assert given is not None
    assert [int(it) for it in given[1].split(".")] >= [int(it) for it in asked[1].split(".")]


def test_what_is_copied_is_in_the_repository() -> None:
    for name, rest in stages()[0]:
        if name == "COPY":
            *sources, _ = rest.split()
            assert all((ROOT / source).exists() for source in sources), rest
    assert not any(name == "COPY" for name, _ in stages()[1])  # the wheel is mounted


def test_the_service_in_the_container_has_no_rights() -> None:
    last = stages()[1]
    names = [name for name, _ in last]
    found = dict(last)
    user, group = found["USER"].split(":")
    assert int(user) > 0
    assert int(group) > 0
    assert "RUN" not in names[names.index("USER") :]  # nothing is written after it
    assert json.loads(found["VOLUME"]) == ["/var/lib/lazysketch", "/var/lib/lazysketch-key"]
    assert "/healthz" in found["HEALTHCHECK"]
    command = json.loads(found["HEALTHCHECK"].partition("CMD ")[2])
    compile(command[2], "health", "exec")


def test_the_container_and_the_unit_start_the_service_with_options_that_it_has() -> None:
    last = dict(stages()[1])
    words = [*json.loads(last["ENTRYPOINT"]), *json.loads(last["CMD"])]
    unit = (PACKAGING / "lazysketch.service").read_text("utf-8").replace("\\\n", " ")
    line = next(line for line in unit.splitlines() if line.startswith("ExecStart="))
    started = shlex.split(line.removeprefix("ExecStart="))
    assert started == words
    assert words[:2] == ["/opt/lazysketch/bin/lazysketch", "serve"]
    assert {word for word in words if word.startswith("--")} <= OPTIONS
    state, key = (words[words.index(option) + 1] for option in ("--state", "--key-file"))
    assert not Path(key).is_relative_to(Path(state).parent)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = (PACKAGING / "lazysketch.service").read_text("utf-8")
    path = tmp_path / "lazysketch.service"
    path.write_text(unit.replace("/opt/lazysketch/bin/lazysketch", sys.executable))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(path)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def expressions(board: dict[str, Any]) -> list[str]:
    found = [one["expr"] for panel in board["panels"] for one in panel["targets"]]
    variables = [one["query"] for one in board["templating"]["list"] if one["type"] == "query"]
    return found + [one["query"] for one in variables]


def test_the_dashboard_asks_for_metrics_that_readers_get() -> None:
    """Names and labels, as the exposition of a publication has them."""
    source = (ROOT / "python/lazysketch/service/reading/exposition.py").read_text("utf-8")
    exposed = set(re.findall(r'"(lazysketch_[a-z_]+)"', source))
    board = json.loads((PACKAGING / "grafana-dashboard.json").read_text("utf-8"))
    texts = expressions(board)
    assert {name for text in texts for name in re.findall(r"lazysketch_[a-z_]+", text)} == exposed
    labels = {label for text in texts for label in re.findall(r"([a-z]+)=~?\"", text)}
    assert labels == {"stream", "item", "bound"}
    assert labels <= set(re.findall(r'"([a-z]+)"', source))
    bounds = {bound for text in texts for bound in re.findall(r'bound="([a-z]+)"', text)}
    assert bounds == {"estimate", "low", "high"}
    numbers = [panel["id"] for panel in board["panels"]]
    assert len(set(numbers)) == len(numbers) >= 4
    for panel in board["panels"]:  # gauges have no rate
        assert not any("rate(" in one["expr"] for one in panel["targets"])
