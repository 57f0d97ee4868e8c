"""The paper's evaluation and ours, through the public interface; not part of the wheel.

    python -m experiments run NAME|all [--quick] [--trials 20] [--out DIR]
    python -m experiments report [--out DIR]

Every experiment is a file in ``panels/``: the parameter that varies, the contenders, all other
parameters, and the expectations. One trial at one value is a cell; finished cells are kept, and a
run resumes after the last one. The cost is about 25 minutes of one core, under a minute with
``--quick``. Streams are generated, or read from ``../shared/data`` or any file. Keys are seeded, so
every number is reproducible and all sketches here are NOT PRIVATE.

To record times again on a quiet machine, and make docs/experiments.md from the record::

    python -m experiments run time-memory time-prefix growth-width growth-horizon --record \\
        --out build/quiet && python -m experiments report --recorded

Source: R. Holland, "Faster Differentially Private Sketches under Continual Observation", arXiv
2507.03361; its panels (a) to (f), table of complexities and heavy hitters are reproduced here.
"""
