"""The help is golden, every verb and option is documented, every documented command runs."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.locations import ROOT
from tests.oracle.captures import ETHERNET, arp, framed, ip, pcap
from tests.unit.cli.visits import write_visits

from lazysketch import LazyCountMin
from lazysketch.cli import main
from lazysketch.cli.group import lazysketch

GOLDEN = ROOT / "tests" / "golden" / "cli"
DOCS = ROOT / "docs"
PAGE = (DOCS / "cli.md").read_text(encoding="utf-8")
VERBS = sorted(lazysketch.commands)
NESTED = {
    f"{verb} {name}": command
    for verb, group in lazysketch.commands.items()
    if isinstance(group, click.Group)
    for name, command in group.commands.items()
}


def commands_of(name: str) -> list[str]:
    """The commands of a page, without their output; continued lines are joined."""
    text = (DOCS / name).read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


COMMANDS = commands_of("cli.md")
# Commands that need a system log, the network or a clone are not run, nor is one that serves until
# it is ended: test_serve.py does. Nor is what writes into the home.
ELSEWHERE = re.compile(
    r"^(make|tail|tcpdump|journalctl) |^\. |/var/log|kafka://"
    r"|^lazysketch serve --(state|check)|--install$"
)
PLOTS = importlib.util.find_spec("matplotlib") is not None
RUN = {
    name: [
        command
        for command in commands_of(name)
        if not ELSEWHERE.search(command) and (PLOTS or "--plot" not in command)
    ]
    for name in ("cli.md", "planning.md", "privacy-officers.md", "quickstart.md", "recipes.md")
}
LOG = '203.0.113.{host} - - [17/May/2015:10:05:03 +0000] "GET /page HTTP/1.1" 200 512 "-" "agent"\n'
ZEEK = "#separator \\x09\n#fields\tts\tid.orig_h\tquery\n#types\ttime\taddr\tstring\n"
TOOLS = {"--help", "--version", "-m", "-d", "-f"}  # -m of python, -d and -f of cut


def options_of(verb: str) -> Iterator[click.Option]:
    for parameter in (NESTED.get(verb) or lazysketch.commands[verb]).params:
        if isinstance(parameter, click.Option):
            yield parameter


@pytest.mark.parametrize("verb", ["", *VERBS, *NESTED])
def test_the_help_is_golden(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*verb.split(), "--help"]) == 0
    golden = GOLDEN / f"{verb.replace(' ', '-') or 'lazysketch'}.txt"
    # After an intended change: COLUMNS=80 lazysketch VERB --help > tests/golden/cli/VERB.txt
    assert capsys.readouterr().out == golden.read_text(encoding="utf-8")


def test_no_golden_file_is_left_over() -> None:
    assert sorted(path.stem for path in GOLDEN.iterdir()) == sorted(
        ["lazysketch", *VERBS, *(verb.replace(" ", "-") for verb in NESTED)]
    )


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_and_option_has_a_heading_and_an_example(verb: str) -> None:
    assert re.search(rf"^## {verb}$", PAGE, re.MULTILINE)
    assert any(f"lazysketch {verb}" in command for command in COMMANDS)
    for option in options_of(verb):
        name = option.opts[-1]
        section = re.search(rf"^### .*`{name}[ `].*?(?=^##)", PAGE + "##", re.MULTILINE | re.DOTALL)
        assert section, name
        assert re.search(rf"^\$ .* {name}\b", section[0], re.MULTILINE), name


@pytest.mark.parametrize("verb", NESTED)
def test_every_nested_verb_and_option_is_documented(verb: str) -> None:
    section = re.search(rf"^### {verb}$.*?(?=^##)", PAGE + "##", re.MULTILINE | re.DOTALL)
    assert section
    assert re.search(rf"^\$ lazysketch {verb} ", section[0], re.MULTILINE)
    for option in options_of(verb):
        assert f"`{option.opts[-1]}" in section[0], option.opts[-1]


def test_only_existing_options_are_documented() -> None:
    known = {
        name for verb in (*VERBS, *NESTED) for option in options_of(verb) for name in option.opts
    }
    text = re.sub(r"pip .*|\(#[^)]*\)", "", PAGE)  # neither pip's nor anchors
    documented = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", text))
    assert documented - known - TOOLS == set()


def test_each_option_has_help_and_a_default() -> None:
    for verb in (*VERBS, *NESTED):
        for option in options_of(verb):
            assert option.help
            documented = option.show_default or option.required or "[default: " in option.help
            assert documented, f"{verb} {option.name}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documented")
    hosts = [f"203.0.113.{i}" for i in range(9)]
    (folder / "access.log").write_text("".join(LOG.format(host=i % 9) for i in range(500)))
    log = (folder / "access.log").read_text()
    (folder / "nginx.log").write_text(log.replace("\n", ' "203.0.113.7"\n'))
    (folder / "hosts.txt").write_text("".join(f"{host}\n" for host in hosts))
    (folder / "networks.txt").write_text("".join(f"{host}\n" for host in hosts))
    (folder / "events.txt").write_text("login\nlogout\nlogin\n" * 300)
    (folder / "items.txt").write_text("login\nlogout\nbuy\n")
    times = "".join(f"/{number % 7},{1.5 ** (number % 19):.2f}\n" for number in range(2_000))
    (folder / "latency.csv").write_text("page,ms\n" + times)
    (folder / "sample.txt").write_text("login\nlogout\nlogin\nbuy\n" * 300)
    (folder / "domains.txt").write_text("example.com\nexample.org\n")
    (folder / "dns.log").write_text(ZEEK + "".join(f"1.5\t{h}\texample.com\n" for h in hosts * 50))
    flows = "".join(f"{host},{64 * i}\n" for i, host in enumerate(hosts * 50))
    (folder / "flows.csv").write_text("src,bytes\n" + flows)
    rows = ({"source": {"address": host}, "bytes": 40} for host in hosts * 50)
    (folder / "flows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    packets = [framed(ip("192.0.2.1", host, ports=(40_000, 443)), ETHERNET) for host in hosts * 50]
    (folder / "traffic.pcap").write_bytes(pcap([*packets, arp()]))
    write_visits(folder)
    settings = re.search(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert settings
    (folder / "lazysketch.toml").write_text(settings[1])
    parts = re.findall(r'^```toml title="(.*?)"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL)
    assert {"flows.toml", "visits.toml"} <= {name for name, _ in parts}
    for name, text in parts:
        (folder / name).write_text(text)
    for day in ("monday", "tuesday"):
        with LazyCountMin(depth=4, width=64, epsilon=1.0, delta=1e-8, hash_seed=1) as sketch:
            sketch.update_many(["login", "logout"] * 200)
            sketch.release().save(folder / f"{day}.lzs")
    return folder


def is_slow(command: str) -> bool:
    """True for all forms of the demo but one; each ranks 2^20 generated items."""
    return "demo" in command and command != "lazysketch demo"


@pytest.mark.parametrize(
    ("page", "command"),
    [
        pytest.param(page, command, marks=[pytest.mark.long] if is_slow(command) else [])
        for page in RUN
        for command in RUN[page]
    ],
)
def test_documented_commands_run(
    capfd: pytest.CaptureFixture[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    page: str,
    command: str,
) -> None:
    """Run in the order of the page, in one folder: a command may use files of an earlier one."""
    monkeypatch.chdir(folder)
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):  # of keys and anchors
        monkeypatch.setenv(variable, str(folder / variable))
    words = shlex.split(command)
    if words[0] == "lazysketch" and not set(words) & {"|", ">"}:
        assert main(words[1:]) == 0
        assert capfd.readouterr().out
        return
    python = shlex.quote(sys.executable)
    line = command.replace("python -m lazysketch", "lazysketch")
    shell = f'lazysketch() {{ {python} -m lazysketch "$@"; }}\n{line}'
    done = subprocess.run(
        ["/bin/sh", "-c", shell], env=os.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout or (folder / words[-1]).stat().st_size
    assert "Traceback" not in done.stderr


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"lazysketch {importlib.metadata.version('lazysketch')}\n"
