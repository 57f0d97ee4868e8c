"""Run the command ``lazysketch`` by ``python -m lazysketch``."""

from __future__ import annotations

import sys

from lazysketch.cli import process

if __name__ == "__main__":
    sys.exit(process())
