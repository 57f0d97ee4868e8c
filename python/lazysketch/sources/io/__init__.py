"""Bytes of an input: paths, files and pipes, decompression, growing files, reading ahead.

What belongs here: everything between the operating system and whole rows of text. No
module here depends on a format or makes a batch.
"""
