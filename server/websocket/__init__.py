"""WebSocket: NATS in the frames of RFC 6455, for clients and leaf connections, at both ends.

It turns bytes into bytes: the connections of clients and leafs read and write NATS, and know no frame. Frames
are parsed by wsproto and the HTTP request by h11, both without I/O. Promises: a message passes in pieces of
bounded size, however long its frame is and whatever it inflates to; no turn of the loop decodes, inflates or
compresses for long; while a connection reads nothing, nothing is decoded for it. Nothing here is imported
unless the configuration asks for it.
"""
