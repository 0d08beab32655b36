"""`pyjs pub`, `sub`, `request`, `reply` and `rtt`: messages without JetStream's management."""
