"""Fuzzing in CI: random damage for a few seconds, fresh in every run.

For every input, the call returns or raises an error of lazysketch; it never panics
(PanicException is not an Exception), hangs, or applies a part of a batch. A failure reports the
``random.Random(...)`` that reproduces the input. FUZZ_SECONDS in the environment makes a test
longer than the two seconds of CI.
"""
