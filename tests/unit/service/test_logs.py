"""Logs of the service: one object a line, without what is no failure."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from lazysketch.service.logs import log_as_json


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield root
    root.handlers[:], root.level = handlers, level
    logging.getLogger("uvicorn.error").setLevel(logging.NOTSET)


def test_a_failure_is_a_line_without_its_text(
    root: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    log_as_json()
    try:
        raise ValueError("canary-51c0")
    except ValueError:
        root.exception("a request failed")
    content = json.loads(capsys.readouterr().err)
    assert (content["level"], content["error"]) == ("error", "ValueError")
    assert "canary" not in str(content)


def test_readers_that_do_not_read_are_no_failure_at_the_end(
    root: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its server says so of connections alone too; requests that it cancels are a failure."""
    log_as_json()
    server = logging.getLogger("uvicorn.error")
    text = "Cancel %s running task(s), timeout graceful shutdown exceeded"
    server.error(text, 0)
    assert not capsys.readouterr().err
    server.error(text, 3)
    assert "Cancel 3 running" in json.loads(capsys.readouterr().err)["message"]
    assert root.handlers
