"""Live tables: private sketches and counters, exact sketches, and keys.

Everything here, except the keys, holds counts inside the native core.
"""
