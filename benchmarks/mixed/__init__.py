"""The load with mixed traffic: what `traffic` makes, and the processor time that the servers take for it.

Each scenario builds its bytes before the clock starts, drives the server through raw sockets, and returns a
`Measured`. It runs in a process of its own: `python -m benchmarks.mixed SCENARIO PORT JSON` prints one JSON
line. The option `pids` names the server's processes.
"""
