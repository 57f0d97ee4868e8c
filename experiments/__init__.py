"""The paper's evaluation and ours, from the public interface alone; not part of the wheel.

    python -m experiments run NAME|all [--quick] [--trials 20] [--out DIR]
    python -m experiments report [--out DIR]

Every experiment is a file in ``panels/``: what varies, who competes, which parameters, and what is
expected of the result. Its trials are cells; a finished cell is kept, and a run goes on where the
last one stopped. Costs about 25 minutes of one core, under a minute with ``--quick``. Streams
are generated, or read from ``../shared/data`` or any file; keys are seeded, so that every number
can be had again, and all sketches here are NOT PRIVATE.

To record times again on a quiet machine, and make docs/experiments.md of the record::

    python -m experiments run time-memory time-prefix growth-width growth-horizon --record \\
        --out build/quiet && python -m experiments report --recorded

Source: R. Holland, "Faster Differentially Private Sketches under Continual Observation", arXiv
2507.03361, whose panels (a) to (f), table of complexities and heavy hitters are run here.
"""
