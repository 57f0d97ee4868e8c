"""Bytes: files, pipes, compression, growing files, reading in a background thread."""
