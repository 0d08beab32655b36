"""The server: connections, accounts, leaf nodes and JetStream."""
