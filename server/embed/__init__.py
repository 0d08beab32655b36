"""pyjs inside a Python process: tests, notebooks, services."""
