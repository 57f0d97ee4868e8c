"""One run over an input: reading, counting, saving, the exit status."""
