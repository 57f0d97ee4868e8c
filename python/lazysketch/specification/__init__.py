"""Descriptions of private tables: size, schedule, mechanism, and the noise that follows.

All values are frozen and checked once. Nothing here holds a count or a key.
"""
