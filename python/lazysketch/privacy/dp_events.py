"""Descriptions in the words of Google's dp-accounting, to compose with mechanisms of others.

That package is no dependency: it is imported when somebody asks for an event.

Source: https://github.com/google/differential-privacy, ``python/dp_accounting``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lazysketch.errors import MissingPackageError

__all__ = ["composed_event", "gaussian_event", "non_private_event"]


def gaussian_event(noise_multiplier: float) -> Any:
    """Return the event of one Gaussian mechanism.

    Args:
        noise_multiplier: sigma / l2_sensitivity, above 0.

    Returns:
        A ``dp_accounting.GaussianDpEvent``.

    Raises:
        MissingPackageError: the package dp-accounting is not installed.
    """
    return _dp_accounting().GaussianDpEvent(noise_multiplier)


def composed_event(noise_multipliers: Iterable[float]) -> Any:
    """Return the event of several Gaussian mechanisms on the same stream.

    Args:
        noise_multipliers: one sigma / l2_sensitivity per mechanism.

    Returns:
        A ``dp_accounting.ComposedDpEvent`` of ``GaussianDpEvent``.

    Raises:
        MissingPackageError: the package dp-accounting is not installed.
    """
    return _dp_accounting().ComposedDpEvent([gaussian_event(each) for each in noise_multipliers])


def non_private_event() -> Any:
    """Return the event of something that promises nothing.

    Returns:
        A ``dp_accounting.NonPrivateDpEvent``.

    Raises:
        MissingPackageError: the package dp-accounting is not installed.
    """
    return _dp_accounting().NonPrivateDpEvent()


def _dp_accounting() -> Any:
    try:  # large, and needed by few
        import dp_accounting
    except ImportError as missing:
        raise MissingPackageError(
            "to_dp_event: expected the package dp-accounting, got none installed; "
            "pip install dp-accounting"
        ) from missing
    return dp_accounting
