"""Whole wrong ideas, planted one at a time, each with a test that must fail.

``catalogue`` lists them. Those of the core are compiled in with the cargo feature ``planted``
and switched on by an environment variable; those of the package are patched by ``plugin`` in the
process of the tests. ``python -m tests.planted`` runs them all.
"""
