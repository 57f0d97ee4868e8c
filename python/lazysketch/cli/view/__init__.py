"""Output: reports, tables, the live table, the JSON stream, plots."""
