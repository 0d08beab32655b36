"""Backups of streams: sent to the client that asks for one (`sender`), and restored (`restore`, `staged`).

Their format is that of `protocol.archive`, which nats-server writes and reads since 2.15.
"""
