"""Estimates, intervals and moments of counts, from one public table.

All of it is post-processing of one release: it needs no secret and costs no privacy. Functions take
arrays (values, variances, steps of the last pushes), never a sketch.
"""
