"""The streams and consumers of one account on this server: made, changed, opened at a start, backed up."""
