"""Groups of verbs whose help has the order of use, not that of the alphabet."""

from __future__ import annotations

import click


class OrderedGroup(click.Group):
    """A group whose help lists the verbs in the order in which they are defined."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        """Return the names of the verbs."""
        return list(self.commands)
