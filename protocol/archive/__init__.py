"""A stream as a file: what `nats stream backup` receives from a server and sends back to restore it.

`entries` has the contents: the state of the stream, its consumers and its messages, in this order. The
framing around them is S2 (`protocol.s2`).

Source: nats-server's server/filestore.go: streamSnapshot; the format specifications of Snappy and S2.
"""
