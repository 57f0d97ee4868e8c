"""The slow, obviously right counterpart of the native core, in plain Python.

Each module follows the pseudo-code of R. Holland, "Faster Differentially Private
Sketches under Continual Observation" (arXiv 2507.03361), with the corrections that
its docstrings name. Nothing here is fast, nothing is private and nothing imports
lazysketch: noise and hash functions come in as plain functions, so the tests can pass
the core's own draws and compare every release exactly.

=================================  ==================================================
``schedules``                      which columns are pushed at which step
``gaussian_binary_mechanism``      GaussBM, the paper's binary tree with stored nodes
``haar``                           the midpoint mechanism in exact fractions
``counters``                       the n-counters problem, answered lazily
``discovery``                      Misra-Gries, the dictionary, and the law of what they publish
``sketches``                       Count-Min, Count Sketch, Punctual, Lazy and the query
=================================  ==================================================
"""
