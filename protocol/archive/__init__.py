"""A stream as a file: what `nats stream backup` receives from a server and sends back to restore it.

`entries` has the contents: the state of the stream, its consumers and its messages, in this order. `frames`
has the S2 framing around them, and `crc32c` its checksums.

Source: nats-server's server/filestore.go: streamSnapshot; the format specifications of Snappy and S2.
"""
