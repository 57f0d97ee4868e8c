"""Kills processes that charge a ledger, and checks what it has afterwards.

    python -m tests.unit.ledger.killed FOLDER KILLS SEED

Each process opens the ledger and charges runs, and writes their numbers to a pipe after each call.
It is killed at a random moment. Prints the number of kills and of runs; status 1 if a run is
missing whose charge had returned, or there is more than one that had not.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from tests.unit.ledger.ledgers import Place

WIDTH = 8
SECONDS = 0.02
SHARE_WHILE_OPENING = 0.25


def charge_for_ever(place: Place, acknowledged: int) -> None:
    """Charge runs until the process is killed."""
    with place.open(wait=5.0) as ledger:
        while True:
            run = ledger.charge((1e-4, 0.0), note="a run that may be killed").entry.run
            os.write(acknowledged, run.to_bytes(WIDTH, "little"))


def runs_after_a_kill(place: Place, law: random.Random) -> int:
    """Return the last run whose charge had returned when a process was killed; 0 if none had."""
    while_opening = law.random() < SHARE_WHILE_OPENING
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        try:
            charge_for_ever(place, write)
        finally:
            os._exit(1)
    os.close(write)
    answers = b"" if while_opening else os.read(read, WIDTH)
    time.sleep(law.uniform(0.0, SECONDS))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        raise RuntimeError("a process that charges ended before it was killed")
    while piece := os.read(read, 1 << 16):
        answers += piece
    os.close(read)
    return int.from_bytes(answers[-WIDTH:], "little")


def main() -> int:
    """Run the kills that the command line asks for."""
    place, kills, seed = Place(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
    place.create(epsilon=50.0).close()
    law, before, most_lost = random.Random(seed), 0, 0
    for _ in range(kills):
        acknowledged = runs_after_a_kill(place, law)
        with place.open() as ledger:
            found = len(ledger.entries())
        if not max(before, acknowledged) <= found <= max(before, acknowledged) + 1:
            sys.stdout.write(f"{acknowledged} acknowledged, {before} before, {found} found\n")
            return 1
        most_lost = max(most_lost, found - max(before, acknowledged))
        before = found
    sys.stdout.write(f"{kills} kills, {before} runs, {most_lost} unacknowledged\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
