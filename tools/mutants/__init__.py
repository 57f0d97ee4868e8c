"""Mutation testing of the code that makes the library private (docs/testing.md).

    python -m tools.mutants [--minutes N] [--changed] [--only rust|python] [--file PATH]

A mutant is the library with one small change: another operator, a constant returned. cargo-mutants
names those of the Rust core, mutmut those of the Python modules that compute noise and guarantees.
A mutant that all tests pass is an error, unless ``tests/mutants_listed.toml`` states why the change
is harmless. State is kept in build/mutants, so a run goes on where the last one stopped.

| module | what |
| --- | --- |
| ``mutant`` | one mutant, and what became of each |
| ``scope`` | which files, in which order; the sample; lines of the current change |
| ``switches``, ``builds`` | all mutants of the core in one build, and its tests with one of them |
| ``stages`` | which tests of the core meet a mutant |
| ``reached`` | which functions each of them reaches |
| ``rust``, ``python`` | run the tests of the core, and mutmut, on a copy of the sources |
| ``slow_tests`` | of the package: they meet the mutants that the others leave |
| ``listed`` | the accepted survivors |
| ``kept`` | the outcomes in the repository, and the table per module |
| ``report`` | the errors |
"""
