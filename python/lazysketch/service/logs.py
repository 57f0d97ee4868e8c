"""Structured logs on standard error: one JSON object per line, never an item or a count."""

from __future__ import annotations

import json
import logging
import sys
from datetime import datetime, timezone

__all__ = ["log_as_json"]


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line."""
        content = {
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(
                timespec="milliseconds"
            ),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            # The type and the place alone: the text of a foreign error may quote a request.
            error = record.exc_info[1]
            content["error"] = type(error).__name__
            trace = error.__traceback__
            while trace is not None and trace.tb_next is not None:
                trace = trace.tb_next
            if trace is not None:
                content["at"] = f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
        return json.dumps(content)


def _matters(record: logging.LogRecord) -> bool:
    """Return whether a record is more than an end with readers that did not read their answers."""
    return not (str(record.msg).startswith("Cancel %s running task") and record.args == (0,))


def log_as_json() -> None:
    """Write all logs of this process to standard error, as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_matters)
    handler.setFormatter(_JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
