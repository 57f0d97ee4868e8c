"""Privacy: what is hidden, how much noise that takes, and how it is described.

``relations`` says how far one event moves the counts, ``calibration`` how much
noise (epsilon, delta) then asks for, ``accounting`` describes the result,
``composition`` joins several.
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
from lazysketch.privacy.composition import Composition, composed
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
    "composed",
    "gaussian_delta",
    "noise_multiplier",
    "table_sensitivity2",
]
