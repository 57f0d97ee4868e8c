"""Locks of stores next to forked children, which have the files of their parent open."""

from __future__ import annotations

import gc
import os

import pytest
from tests.unit.store.lives import Lives, table

from lazysketch.errors import StoreInUseError

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")


def test_a_child_that_has_the_files_does_not_keep_a_store_open(lives: Lives) -> None:
    """As one that another thread starts as a command has them until it begins."""
    store = lives.open()
    until, ends = os.pipe()
    child = os.fork()
    if not child:
        os.close(ends)
        os.read(until, 1)
        os._exit(0)
    os.close(until)
    try:
        store.close()
        with lives.open() as again:
            assert again.sketch("a", table()).step == 0
    finally:
        os.close(ends)
        os.waitpid(child, 0)


def test_a_child_that_drops_its_copy_does_not_end_the_lock(lives: Lives) -> None:
    store = lives.open()
    child = os.fork()
    if not child:
        try:
            del store
            gc.collect()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    with pytest.raises(StoreInUseError):
        lives.open()
    store.close()
