"""The description of a private table: its size, schedule, mechanism, and the noise that follows.

Frozen values, checked once. Nothing here holds a count or a key.
"""
