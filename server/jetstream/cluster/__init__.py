"""JetStream of several servers: what the meta group decides, done on this server.

`domain` is this server's place in it: one per server with JetStream and routes. A single server has none.
"""
