"""Sums, counts and means of numeric values by item: two tables under one guarantee.

What belongs here: values as integers of a public grid, the description of the two tables, the live
object and its releases. The tables are ordinary Count Sketches.
"""
