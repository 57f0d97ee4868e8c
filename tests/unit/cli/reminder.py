"""The last line on standard error of a run over files that no ledger adds up."""

from __future__ import annotations

from typing import Final

REMINDER: Final = (
    "lazysketch: other runs over the same people add to what this one spends; --ledger keeps the "
    "total and a cap\n"
)
