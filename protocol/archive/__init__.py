"""A stream as a file: what `nats stream backup` receives from a server, and gives it back.

`entries` are the stream's state, its consumers and its messages, one after the other; `frames` is the S2
framing around them, with `crc32c` for its checksums. Source: nats-server 2.15, and the format texts of Snappy
and S2.
"""
