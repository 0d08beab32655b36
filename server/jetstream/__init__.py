"""JetStream: the engine of one server, alone or in a cluster, with its accounts and the `$JS.API`."""
