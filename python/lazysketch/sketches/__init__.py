"""Live tables: the private sketches and counters, the exact sketches, and the keys.

What belongs here holds counts inside the native core.
"""
