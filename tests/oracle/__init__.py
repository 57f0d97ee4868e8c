"""A slow, obviously correct implementation of the native core, in plain Python.

Each module follows the pseudo-code of R. Holland, "Faster Differentially Private
Sketches under Continual Observation" (arXiv 2507.03361), with the corrections that
its docstrings name. The algorithms are not fast, not private and do not import
lazysketch: noise and hash functions are arguments, so the tests can pass the core's own
draws and compare every release exactly.

=================================  ==================================================
``schedules``                      which columns are pushed at which step
``gaussian_binary_mechanism``      GaussBM, the paper's binary tree with stored nodes
``haar``                           the midpoint mechanism in exact fractions
``tree``                           the tree mechanism with any integer rows
``counters``                       the n-counters problem, answered lazily
``discovery``                      Misra-Gries, the dictionary, and what they publish
``sketches``                       Count-Min, Count Sketch, Punctual, Lazy and the query
``windows``                        windows under a seeded key, and clocks set by tests
=================================  ==================================================
"""
