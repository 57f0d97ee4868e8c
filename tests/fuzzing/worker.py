"""A process that makes cases, and tells the process that watches it which one it makes.

    python -m tests.fuzzing.worker CAMPAIGN SEED FIRST SECONDS STATUS [--kept 1,4]

Findings go to standard output, one JSON object per line. The status file holds the number of the
session, of the part, and of the cases so far, so that they are known when the process dies.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import mmap
import resource
import struct
import sys
import time
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Final

from tests.fuzzing.campaigns import EVERY, kept_parts

STATUS: Final = struct.Struct("<QQQQ")  # session, part, cases, beats


def main() -> None:
    """Make sessions until the time is up; at least one."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing.worker", description=__doc__)
    parser.add_argument("campaign", choices=EVERY)
    parser.add_argument("seed")
    parser.add_argument("first", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("status", type=Path)
    parser.add_argument("--kept")
    given = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    campaign, kept = EVERY[given.campaign], kept_parts(given.kept)
    resource.setrlimit(resource.RLIMIT_AS, (campaign.memory, campaign.memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with given.status.open("r+b") as file, mmap.mmap(file.fileno(), STATUS.size) as status:
        number, cases, beats, end = given.first, 0, 0, time.monotonic() + given.seconds

        def beat(part: int) -> None:
            nonlocal beats
            beats += 1
            STATUS.pack_into(status, 0, number, part, cases, beats)

        while number == given.first or time.monotonic() < end:
            beat(0)
            made, found = campaign.session(f"{given.seed}.{number}", beat=beat, kept=kept)
            cases += made
            for finding in found:
                sys.stdout.write(json.dumps(asdict(finding)) + "\n")
                sys.stdout.flush()
            number += 1
        beat(0)


if __name__ == "__main__":
    main()
