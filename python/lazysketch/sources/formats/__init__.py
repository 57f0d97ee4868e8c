"""Formats: from bytes or columns to batches of rows. One module per format."""
