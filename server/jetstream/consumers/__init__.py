"""Consumers: what a stream's readers have seen, what they acknowledged, and what they get next.

`core.Consumer` is the whole; it hears through an `Account`, reads a `Stream` and tells time by a `Clock`,
all of which are given to it. The parts are plain state machines: `ledger` (deliveries and acks), `feed`
(which message comes next), `backlog` (how many are left), `pull` and `push` (who gets it), `config` (what
is allowed).
"""
