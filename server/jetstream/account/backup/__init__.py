"""Backups of streams: sent to who asks for one (`sender`), and taken in again (`restore`, `staged`).

Their form is that of `protocol.archive`, which nats-server from 2.15 on makes and takes.
"""
