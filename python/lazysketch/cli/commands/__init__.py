"""The commands: one module per verb. Each reads options, calls the library and writes a result."""
