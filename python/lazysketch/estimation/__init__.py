"""What a public table tells about counts: estimates, intervals and moments.

All of it is post-processing of one release: it needs no secret and costs no privacy. It asks
arrays (values, variances, steps of the last pushes), never a sketch.
"""
