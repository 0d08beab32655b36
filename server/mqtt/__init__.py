"""MQTT 3.1.1 clients, as nats-server serves them: sessions, retained messages and QoS 1 and 2 by JetStream.

A client's topics are subjects of its account. What it has to be given for certain is in streams of the
account, `$MQTT_…`, under the names and in the forms that nats-server uses, so that servers of both kinds can
take turns. Promises: a PUBACK or a PUBREC is sent when the message is stored, not before; a packet has a
bounded size, before and after the login; nobody else waits for a client. Nothing here is imported unless the
configuration has an `mqtt` block with a port.

`topics` and `packets` are pure, `parser` cuts reads into packets. `requests` asks JetStream, `flow` lets what
takes several answers read like a sequence. `Broker` has an `AccountSessions` for each account, that has the
`Session`s and the `RetainedMessages`; `MQTTConnection` is one client.
"""
