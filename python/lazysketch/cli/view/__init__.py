"""What a terminal, a pipe or a file is shown: tables, the live view, plots, JSON lines."""
