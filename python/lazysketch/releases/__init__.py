"""Public tables: releases, the queries that they answer, their parts, and their files.

Everything here is post-processing of what has been published; there is no secret in it.
"""
