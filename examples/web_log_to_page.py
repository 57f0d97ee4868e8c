"""A web log to a public page: which paths are popular, with one guarantee per event.

    python examples/web_log_to_page.py [FOLDER]

Writes a log of nginx with X-Forwarded-For, counts its paths with the command, and leaves a page
that needs no server.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from lazysketch.cli import main as lazysketch

PATHS = ["/", "/catalogue", "/events", "/hours", "/rooms", "/news", "/help", "/children"]


def main(folder: Path) -> None:
    """Write the log, and the page made of it."""
    folder.mkdir(parents=True, exist_ok=True)
    chance = random.Random(1)
    paths = chance.choices(PATHS, [1 / (place + 1) for place in range(len(PATHS))], k=50_000)
    log, page = folder / "access.log", folder / "paths.html"
    log.write_text(
        "".join(
            f"10.0.0.7 - - [17/May/2026:12:{number // 900:02}:00 +0000] "
            f'"GET {path} HTTP/1.1" 200 512 "-" "curl" "203.0.113.{number % 200}"\n'
            for number, path in enumerate(paths)
        )
    )
    status = lazysketch(["top", str(log), "--by", "path", "--plot", str(page)])
    if status:
        raise SystemExit(status)
    print(f"{page}: {page.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1] if sys.argv[1:] else "."))
