"""`pyjs pub`, `sub`, `request`, `reply` and `rtt`: messages without the management of JetStream."""
