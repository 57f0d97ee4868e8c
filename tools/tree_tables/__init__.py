"""Tables of the tree mechanism: how they are found, made integer, checked and packed.

    python -m tools.tree_tables optimise 10 --output real.npz      (scipy; seconds to minutes)
    python -m tools.tree_tables quantise real.npz --output tree_k10.npz
    python -m tools.tree_tables check tree_k10.npz                 (exact integers)
    python -m tools.tree_tables pack tree_k10.npz --output tree_k10.i16
    python -m tools.tree_tables all-check                          (what the library ships)

A table is a strategy matrix U of docs/theory.md: one row per node, on the node's ancestors and
itself. Privacy needs of it no more than the library recomputes when it loads one; what is done
here decides how accurate the library is, and that what it ships is what was meant.
"""
