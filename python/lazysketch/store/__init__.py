"""Stores: state that survives a restart.

Every change of an object of a store is counted and logged; what is read is durable. After a crash
the same objects go on, with the same counts and the same noise.

================= ==================================================================
opening           the directory, the key, the anchor
store             commits, checkpoints, the key
ingestion         batches that are counted once, and what their sources note
objects_by_name   objects by name: new ones, or those that the store has; statistics_by_name,
                  windows_by_name
partial_ingestion sealed counts of workers as steps; partial_batches: what was added before
stored_objects    the live classes of a store; stored_windows: what their clock says is logged
stored_changes    what they share: changes are logged, reads are made after a commit
journal           the order of changes, and what happens when one is interrupted
recovered_objects what is held of objects until they are opened
checkpoint_header what a checkpoint says of the states in it; saved_windows: ended windows
calls             changes as records
releases_only     no store: a fresh sketch in each life, whose releases are summed in a file
eras              ids of the objects; what earlier eras published; spent: what all of them cost
================= ==================================================================
"""

from lazysketch.store.opening import NO_ANCHOR, NoAnchor, OnDoubt, anchor_of, open_store
from lazysketch.store.releases_only import ReleasesOnly
from lazysketch.store.store import Store

__all__ = ["NO_ANCHOR", "NoAnchor", "OnDoubt", "ReleasesOnly", "Store", "anchor_of", "open_store"]
