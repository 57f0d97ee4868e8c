"""The noise of several tables together: each as claimed, and no two of them related.

The windows of a stream, the levels of a hierarchy and the parts of a merged release have a sketch
each. Their residuals (public minus exact counts) are tested as in
:mod:`lazysketch.audit.residuals`, and every two of them for covariance, cell by cell.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lazysketch.audit import p_values
from lazysketch.audit.case import Case
from lazysketch.audit.residuals import of_residuals
from lazysketch.audit.schedule_model import Integers
from lazysketch.releases.release import Release
from lazysketch.specification.table_spec import TableSpec

__all__ = ["ReadTable", "tested_jointly"]

Sample = NDArray[np.float64]


@dataclass(frozen=True)
class ReadTable:
    """A public table, what it should hold, and its description.

    Args:
        name: name in findings.
        spec: description of the table.
        release: the public table.
        truth: the exact published counts.
    """

    name: str
    spec: TableSpec
    release: Release
    truth: Integers


def tested_jointly(tables: Sequence[ReadTable]) -> Iterator[tuple[str, float]]:
    """Yield tests of the residuals of every table and of the covariance of every two.

    Args:
        tables: tables of one shape, of at least 64 cells.

    Yields:
        Name and p-value of each test.
    """
    known: list[Sample] = []
    for table in tables:
        case, part = Case(table.spec), table.release.parts[0]
        stated = part.mechanism.name if part.mechanism else ""
        noise = case.claimed_noise(stated)
        pushes, _ = case.progress(part.step)
        if part.finished:
            pushes, _ = case.finished(part.step, stated)
        found = np.asarray(table.release.table - table.truth, np.float64)
        for name, p_value in of_residuals(noise, pushes, found, table.truth):
            yield f"{table.name}: {name}", p_value
        standardised = np.zeros(found.shape)
        for push in np.unique(pushes[pushes > 0]).tolist():
            at = pushes == push
            standardised[:, at] = noise.standardised(found[:, at], push)
        known.append(standardised.ravel())
    for (one, x), (other, y) in itertools.combinations(zip(tables, known, strict=True), 2):
        yield f"{one.name} and {other.name}", p_values.covariance(x, y, 0.0)
