"""Inputs and calls that have ended badly, or might: each is made again in every run of the tests.

``inputs`` has generated files, named by what they are; ``calls`` has calls of the package.
"""
