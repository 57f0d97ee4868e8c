"""Privacy: what is hidden, how much noise that takes, and how it is described.

``relations`` says how far one event moves the counts, ``calibration`` how much
noise (epsilon, delta) then asks for, ``accounting`` describes the result,
``curve`` tells it for other epsilons, ``composition`` adds several results up.
"""

from __future__ import annotations

from lazysketch.privacy.accounting import Privacy
from lazysketch.privacy.calibration import (
    NoiseCalibration,
    calibrate,
    classical_noise_multiplier,
    gaussian_delta,
    noise_multiplier,
)
from lazysketch.privacy.composition import Composition, compose
from lazysketch.privacy.relations import (
    Calibration,
    CountKind,
    Relation,
    changed_cells,
    table_sensitivity2,
)

__all__ = [
    "Calibration",
    "Composition",
    "CountKind",
    "NoiseCalibration",
    "Privacy",
    "Relation",
    "calibrate",
    "changed_cells",
    "classical_noise_multiplier",
    "compose",
    "gaussian_delta",
    "noise_multiplier",
    "table_sensitivity2",
]
