"""The commands: one module per verb. Each calls the library and writes a report."""
