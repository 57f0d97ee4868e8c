"""A process that imports the package with its mutants once, and forks for each run of tests.

It only imports, so no cache holds what code without a mutant computed. Each line of its input is a
request, each line of its output the answer to one, in JSON. Runs as a program in the copied tree.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any, Final

CLOCK: Final = 20.0  # a run that waits for this many times its limit has stopped
MEASURING: Final = "stats"  # the name under which the mutants' switch tells what runs


class _Measure:
    """Per test: the seconds of the processor, and the functions with mutants that it reaches."""

    def __init__(self) -> None:
        self.tests: dict[str, tuple[float, list[str]]] = {}
        self._hits: set[str] = set()
        self._start = 0.0

    def hit(self, name: str, **_: object) -> None:
        """Replace mutmut's own record, which also keeps callers."""
        self._hits.add(name)

    def pytest_runtest_logstart(self) -> None:
        self._hits.clear()
        self._start = time.process_time()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        seconds = time.process_time() - self._start
        self.tests[nodeid] = (seconds, sorted(self._hits))


def _run(request: dict[str, Any]) -> int:
    """Run the tests in this process, which is a child; return the status of pytest."""
    import pytest
    from mutmut.mutation import trampoline

    trampoline.set_mutant_under_test(request["mutant"])
    plugin = _Measure()
    vars(trampoline)["record_trampoline_hit"] = plugin.hit
    arguments = ["-x", "-q", "--rootdir=.", "-c", "pyproject.toml", *request["tests"]]
    plugins = [plugin] if request["mutant"] == MEASURING else []
    status = int(pytest.main(arguments, plugins=plugins))
    if request["into"]:
        Path(request["into"]).write_text(json.dumps(plugin.tests), encoding="utf-8")
    return status


def _child(request: dict[str, Any]) -> None:
    status = 3
    try:
        os.setsid()
        seconds = request["seconds"]
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        nothing = os.open(os.devnull, os.O_RDWR)
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(nothing, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        status = _run(request)
    finally:
        os._exit(status)


def _answer(request: dict[str, Any]) -> dict[str, float]:
    child = os.fork()
    if child == 0:
        _child(request)
    end = time.monotonic() + CLOCK * request["seconds"]
    late = False
    while True:
        found, status, used = os.wait4(child, os.WNOHANG)
        if found:
            break
        if time.monotonic() > end:
            late, end = True, float("inf")
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.01)
    code = os.waitstatus_to_exitcode(status)
    return {"status": code, "cpu": used.ru_utime + used.ru_stime, "late": late}


def main() -> None:
    """Answer requests until the input ends."""
    here = Path.cwd()
    sys.path[:1] = [str(here / "src"), str(here)]
    os.environ["MUTANT_UNDER_TEST"] = ""
    for name in ("hypothesis", "mutmut.mutation.trampoline", "numpy", "pytest", "lazysketch"):
        importlib.import_module(name)
    package = sys.modules["lazysketch"].__file__
    if package is None or not package.startswith(str(here)):
        raise RuntimeError(f"lazysketch: expected the copy, got {package}")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for line in sys.stdin:
        answers.write(json.dumps(_answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
