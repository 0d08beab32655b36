"""Consumers: what they have delivered, what is acknowledged, and which message comes next.

`core.Consumer` puts the parts together. It subscribes through an `Account`, reads a `Stream` and takes the
time from a `Clock`, all of which are passed to it. The parts are plain state machines: `delivery_state`
(deliveries and acks), `message_selector` (which message comes next, and how many are left), `pull` and
`push_delivery` (who gets it), `config` (what is allowed).
"""
