"""Fuzzing: hostile values, calls, inputs and releases, in processes that are watched.

For every case, the call returns, or raises a documented error without content of the stream; it
never panics, aborts or hangs, and never applies a part of a batch. `make fuzz` runs all campaigns
for some minutes, the tests run a sample of them, with fresh seeds in every run.

Floors, downward: __main__ > minimised, core_targets > watched > worker > campaigns > twins,
constructions, releases, inputs, corpus_sessions, controls > live_classes > operations > columns,
exporters, arrow_data, scalars > verdicts, mutations.
"""
