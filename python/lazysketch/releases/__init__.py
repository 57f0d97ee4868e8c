"""Public tables: releases, their queries, their parts, and their files.

Everything here is post-processing of what has been published; there is no secret in it.
"""
