"""One run over an input: counting targets, the run controller, files to read and write."""
