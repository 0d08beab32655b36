"""pyjs and the reference server, measured in turn in one run. `python -m benchmarks` prints the ratios."""
