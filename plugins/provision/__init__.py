"""`pyjs export`, `pyjs plan` and `pyjs apply`: configuration as files; a module for each."""
