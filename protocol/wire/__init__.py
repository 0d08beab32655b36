"""The wire: incremental parsers of the client and leaf protocols, and the encoders of their frames."""
