"""Commands of this package; see its docstring."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.tree_tables.check import DENSE, TableError, check, dense_agrees
from tools.tree_tables.layout import SHIPPED, read, write
from tools.tree_tables.optimise import SCALE_BITS, optimise, quantise


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.tree_tables")
    verbs = parser.add_subparsers(dest="verb", required=True)
    optimising = verbs.add_parser("optimise", help="find real rows for 2^K pushes (needs scipy)")
    optimising.add_argument("k", type=int, metavar="K")
    optimising.add_argument("--target", choices=("even", "log"), default="even")
    optimising.add_argument("--iterations", type=int, default=1500, help="per exponent")
    optimising.add_argument("--output", type=Path, required=True)
    quantising = verbs.add_parser("quantise", help="convert real rows to integer rows")
    quantising.add_argument("file", type=Path)
    quantising.add_argument("--scale-bits", type=int, default=SCALE_BITS)
    quantising.add_argument("--output", type=Path, required=True)
    packing = verbs.add_parser("pack", help="write the bytes that the library embeds")
    packing.add_argument("file", type=Path)
    packing.add_argument("--output", type=Path, required=True)
    checking = verbs.add_parser("check", help="check tables in exact integers")
    checking.add_argument("file", type=Path, nargs="+")
    verbs.add_parser("all-check", help="check all tables that the library ships")
    return parser


def _check(files: list[Path]) -> int:
    failed = 0
    for file in files:
        try:
            rows = read(file)
            facts = check(rows)
            if facts.k <= DENSE and not dense_agrees(rows, facts):
                raise TableError("expected dense linear algebra to agree")
        except (OSError, ValueError) as error:
            failed += 1
            print(f"{file.name}: FAILED: {error}")
        else:
            print(f"{file.name}: {facts}")
    return 1 if failed else 0


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit status."""
    given = _parser().parse_args(arguments)
    if given.verb == "optimise":
        write(given.output, optimise(given.k, target=given.target, iterations=given.iterations))
    elif given.verb == "quantise":
        write(given.output, quantise(read(given.file), scale_bits=given.scale_bits))
    elif given.verb == "pack":
        rows = read(given.file)
        check(rows)
        write(given.output.with_suffix(".i16"), rows)
    else:
        files = sorted(SHIPPED.glob("*.i16")) if given.verb == "all-check" else given.file
        return _check(files)
    return 0


if __name__ == "__main__":
    sys.exit(main())
