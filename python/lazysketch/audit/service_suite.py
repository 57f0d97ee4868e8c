"""The checks of the service, which need the extra ``serve``.

Where its packages are missing, the checks say so and pass, and their bugs are not planted.
Together they take about two seconds on one busy core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Final

from lazysketch.audit.check import Check, of_library
from lazysketch.audit.finding import Outcome

__all__ = ["missing_packages", "service_checks"]

_PACKAGES: Final = ("cryptography", "prometheus_client", "pyarrow", "starlette", "uvicorn")
_SLICES: Final = "windows of 6 slices, count-min 2 x 32"


def missing_packages() -> list[str]:
    """Return the packages of the extra ``serve`` that the checks need and that are missing."""
    return [name for name in _PACKAGES if find_spec(name) is None]


def service_checks() -> Iterator[Check]:
    """Yield the checks of the service.

    Yields:
        Checks of one area.
    """

    def named(name: str, case: str, run: Callable[[], Outcome]) -> Check:
        return Check(name, "service", case, of_library(lambda: _run(run)))

    yield named("what readers see", f"6 streams, {_SLICES}", _observations)
    yield named("durable publications", f"9 crashes, {_SLICES}", _durable)
    yield named("equal answers", f"2 processes, {_SLICES}", _equal)


def _run(run: Callable[[], Outcome]) -> Outcome:
    missing = missing_packages()
    if not missing:
        return run()
    return Outcome(
        claim="the service can be tested",
        observed=f"not tested: {', '.join(missing)} missing (pip install 'lazysketch[serve]')",
        samples=0,
        passed=True,
    )


def _observations() -> Outcome:
    from lazysketch.audit.service_checks import readers_see_no_events
    from lazysketch.audit.service_system import Services

    return readers_see_no_events(Services())


def _durable() -> Outcome:
    from lazysketch.audit.service_checks import publications_are_durable
    from lazysketch.audit.service_system import Services

    return publications_are_durable(Services())


def _equal() -> Outcome:
    from lazysketch.audit.service_checks import readers_get_equal_bytes
    from lazysketch.audit.service_system import Services

    return readers_get_equal_bytes(Services())
