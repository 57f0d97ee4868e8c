"""Formats: from the bytes of an input to batches of rows.

What belongs here: one module per format, the registry that lists them, and what several
formats share: ``selection`` (requested fields, header rows), ``timestamps``,
``field_columns`` and ``arrow_columns``. Modules that import pyarrow at their top are imported
on first use.
"""
