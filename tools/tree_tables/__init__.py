"""Tables of the tree mechanism: optimise, quantise, check and pack them.

    python -m tools.tree_tables optimise 10 --output real.npz      (scipy; seconds to minutes)
    python -m tools.tree_tables quantise real.npz --output tree_k10.npz
    python -m tools.tree_tables check tree_k10.npz                 (exact integers)
    python -m tools.tree_tables pack tree_k10.npz --output tree_k10.i16
    python -m tools.tree_tables all-check                          (all shipped tables)

A table is a strategy matrix U of docs/theory.md: one row per node, over the node's ancestors and
itself. Privacy depends only on what the library recomputes when it loads a table. The programs here
determine its accuracy, and check that the shipped tables are the intended ones.
"""
