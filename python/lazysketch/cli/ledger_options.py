"""Options of ledgers: of runs that are charged to one, and of where one is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from lazysketch.cli.options import gathered
from lazysketch.cli.settings import LedgerSettings

if TYPE_CHECKING:
    from lazysketch.cli.options import Command

__all__ = ["ledger_options", "ledger_place"]


def ledger_options(command: Command) -> Command:
    """Add the options of a ledger; the command gets them as ``charged``."""
    return gathered(
        LedgerSettings,
        "charged",
        click.option(
            "--ledger",
            metavar="LEDGER",
            type=click.Path(),
            help="Charge the run to this ledger before it starts; one beyond its cap is refused.  "
            "[default: not charged]",
        ),
        click.option(
            "--population",
            metavar="NAME",
            help="With --ledger: the name of its population.  [default: none]",
        ),
        click.option(
            "--ledger-key-file",
            metavar="FILE",
            type=click.Path(),
            help="With --ledger: file with its key.  [default: in ~/.config/lazysketch]",
        ),
        click.option(
            "--ledger-anchor",
            metavar="FILE",
            type=click.Path(),
            help="With --ledger: its anchor.  [default: in ~/.local/state/lazysketch]",
        ),
    )(command)


ledger_place: Final = (
    click.option(
        "--anchor",
        metavar="FILE",
        type=click.Path(),
        help="File outside of the ledger that tells an old copy of it.  "
        "[default: in ~/.local/state/lazysketch]",
    ),
    click.option(
        "--key-file",
        metavar="FILE",
        type=click.Path(),
        help="File with the key of the ledger.  [default: in ~/.config/lazysketch]",
    ),
)
