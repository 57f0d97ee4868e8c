"""The verbs of the command: each is loaded when it is called, so that the others cost no time."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Final

import click

from lazysketch.cli.configuration import configurable

# In the order of the help: the name of a verb, also of its module, and its line.
SHORT_HELP: Final = {
    "top": "The heaviest items of a stream, live.",
    "estimate": "The counts of a public list.",
    "distinct": "The number of different items, or people.",
    "quantiles": "Quantiles or a histogram of a number.",
    "ranges": "Counts of ranges of keys, such as networks of addresses.",
    "sums": "Sums, counts and means of a number by item.",
    "pipeline": "Several statistics of a stream, under one guarantee.",
    "query": "Estimates from a release.",
    "inspect": "The parameters of releases.",
    "explain": "What an observer may conclude from releases, at most.",
    "merge": "The sum of releases.",
    "state": "What a state holds, and another key for it.",
    "serve": "Live statistics on a page that anyone may see.",
    "plan": "A sketch for an error or a memory, and the errors to expect.",
    "audit": "Test the guarantee of this installation.",
    "demo": "Private and true counts of generated web traffic.",
    "ledger": "What was spent on a population, and its cap.",
    "completion": "Shell completion.",
}
# Neither takes values from a file of settings or from variables.
_NOT_CONFIGURABLE: Final = {"ledger", "completion"}


class Verbs(MutableMapping[str, click.Command]):
    """The verbs by name, as a group of click keeps them."""

    def __init__(self) -> None:
        self._loaded: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._loaded:
            self._loaded[name] = _load(name)
        return self._loaded[name]

    def __setitem__(self, name: str, verb: click.Command) -> None:
        raise TypeError("verbs: expected the verbs of SHORT_HELP, got another one")

    def __delitem__(self, name: str) -> None:
        raise TypeError("verbs: expected the verbs of SHORT_HELP, got one less")

    def __contains__(self, name: object) -> bool:
        return name in SHORT_HELP

    def __iter__(self) -> Iterator[str]:
        return iter(SHORT_HELP)

    def __len__(self) -> int:
        return len(SHORT_HELP)


def _load(name: str) -> click.Command:
    if name not in SHORT_HELP:
        raise KeyError(name)
    verb: click.Command = getattr(import_module(f"lazysketch.cli.commands.{name}"), name)
    verb.short_help = SHORT_HELP[name]
    return verb if name in _NOT_CONFIGURABLE else configurable(verb)
