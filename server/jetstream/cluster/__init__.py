"""JetStream of several servers: this server carries out what the meta group decides.

`cluster.JetStreamCluster` is this server's part in it: one per server with JetStream and routes. A single
server has none.
"""
