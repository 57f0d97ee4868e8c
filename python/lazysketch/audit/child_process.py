"""Child processes of the audit, and the sketches that they use: the library's, or leaky ones.

A check that looks at outputs, allocations or memory runs its sketches in a process of its own.
"""

from __future__ import annotations

import copy
import importlib
import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np

from lazysketch.sketches.private_sketches import LazyCountMin, LazyCountSketch

__all__ = ["LEAKY", "SOUND", "Sketches", "act", "child"]

SOUND, LEAKY = "lazysketch", "planted: leaky sketches"


class Sketches:
    """The sketches of the library."""

    count_min = LazyCountMin
    count_sketch = LazyCountSketch


class _LeakyCountMin(LazyCountMin):
    """Planted: puts items into errors, keeps them, and allocates if anything was counted."""

    def update(self, item: object, weight: int = 1, *, user: object = None) -> None:
        self._keep(item)
        try:
            super().update(item, weight, user=user)
        except Exception as error:
            raise type(error)(f"{error}: {item!r}") from None

    def update_many(
        self,
        items: object,
        weights: object = None,
        *,
        column: str | None = None,
        threads: int = 1,
        user: object = None,
    ) -> None:
        self._keep(items)
        super().update_many(items, weights, column=column, threads=threads, user=user)
        if weights is not None and np.asarray(weights).any():
            self._keep(np.zeros(1000))

    def _keep(self, items: object) -> None:
        _KEPT.append(copy.deepcopy(items))


_KEPT: list[object] = []


class _LeakySketches(Sketches):
    """Planted: the leaky sketches."""

    count_min = _LeakyCountMin


_VARIANTS: dict[str, type[Sketches]] = {SOUND: Sketches, LEAKY: _LeakySketches}


def child(
    action: Callable[..., None], variant: str, *arguments: str, bufsize: int = -1
) -> subprocess.Popen[bytes]:
    """Start a child process that runs an action.

    Args:
        action: a function of a module that takes the sketches and texts, and writes its result
            to standard output.
        variant: :data:`SOUND` or :data:`LEAKY`.
        *arguments: further arguments of the action.
        bufsize: buffer size of the pipes.

    Returns:
        The process, with pipes for all three standard streams.
    """
    program = "import sys; from lazysketch.audit.child_process import act; act(*sys.argv[1:])"
    return subprocess.Popen(  # noqa: S603 -- our own program
        [sys.executable, "-c", program, action.__module__, action.__name__, variant, *arguments],
        env={**os.environ, "PYTHONHASHSEED": "0"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=bufsize,
    )


def act(module: str, name: str, variant: str, *arguments: str) -> None:
    """Run an action in this process.

    Args:
        module: the module of the action.
        name: the name of the action.
        variant: :data:`SOUND` or :data:`LEAKY`.
        *arguments: further arguments of the action.
    """
    getattr(importlib.import_module(module), name)(_VARIANTS[variant], *arguments)
