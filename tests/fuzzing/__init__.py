"""Fuzzing in CI: random damage for a few seconds, fresh in every run.

What must hold for whatever comes in: the call returns, or raises an error of lazysketch; it
never panics (PanicException is no Exception), hangs or leaves half of a batch behind. A
failure names the seed and the round, with which ``random.Random(seed)`` makes the same input
again. FUZZ_SECONDS in the environment makes a round longer than the two seconds of CI.
"""
