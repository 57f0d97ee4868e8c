"""The N-th large allocation of the native module fails, for N = 1, 2, 3 ... until a call completes.

    python -m tests.faults.allocations FAMILY ...

It needs the native module of ``tests.native_build.build("faults")``. It runs in a process of its
own, because an allocation whose failure cannot be reported ends the process, and prints a line of
JSON per operation: one with its name before the first failure, one with the counts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

from tests.faults.campaign import run
from tests.faults.injection import Outcome
from tests.faults.operations_on_large_tables import LARGE_OPERATIONS
from tests.faults.subjects import known_descriptions

from lazysketch import _native

__all__ = ["LargeAllocations"]

# Memory that grows with an input, a table or a release. Memory of a fixed size is smaller: the
# largest is that of a sketch with discovery, 2,256 bytes.
_SMALLEST: Final = 4096
_SWITCH: Final[Any] = _native  # the stubs describe wheels, which have no such switch

T = TypeVar("T")


class LargeAllocations:
    """Lets one large allocation of a call fail; a point of a call is a large allocation."""

    errors: tuple[type[BaseException], ...] = (MemoryError,)

    def interrupted(
        self, call: Callable[[], T], *, at: int, error: type[BaseException]
    ) -> Outcome[T]:
        """Make a call, and let one of its large allocations fail.

        Args:
            call: the operation.
            at: number of the allocation, from 1; with 0, none fails.
            error: what is expected; the failure itself has no class.
        """
        raised: BaseException | None = None
        value: T | None = None
        _SWITCH.fail_allocation(at, smallest=_SMALLEST)
        try:
            value = call()
        except BaseException as found:
            raised = found
        finally:
            number = _SWITCH.stop_failing_allocations()
        place = f"allocation {at}" if 0 < at <= number else ""
        return Outcome(points=number, error=raised, value=value, place=place)

    def is_injected(self, error: BaseException) -> bool:
        """Return whether an error is a lack of memory.

        Args:
            error: what a call raised.
        """
        return isinstance(error, MemoryError)


def main() -> None:
    """Run the campaigns of the families that the command line names."""
    with known_descriptions():
        for operation in LARGE_OPERATIONS:
            if operation.family not in sys.argv[1:]:
                continue
            sys.stdout.write(json.dumps(str(operation)) + "\n")
            sys.stdout.flush()  # the next call may end the process
            result = run(operation, LargeAllocations())
            counts = (result.points, result.injected, dict(result.violations), result.examples)
            sys.stdout.write(json.dumps((result.operation, *counts)) + "\n")


if __name__ == "__main__":
    main()
