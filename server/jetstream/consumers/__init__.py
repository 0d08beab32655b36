"""Consumers: what a stream's readers have seen, what they acknowledged, and what they get next.

`core.Consumer` is the whole; it subscribes through an `Account`, reads a `Stream` and takes the time from a
`Clock`, all of which are given to it. The parts are plain state machines: `delivery_state` (deliveries and
acks), `message_selector` (which message comes next, and how many are left), `pull` and `push_delivery` (who
gets it), `config` (what is allowed).
"""
