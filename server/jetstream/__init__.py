"""JetStream on one server: the engine, accounts, streams, consumers and the `$JS.API`."""
