"""JetStream of several servers: this server carries out what the meta group decides.

`cluster.JetStreamCluster` is this server's part in it; a server with JetStream and routes has one, a single
server has none.
"""
