"""The wire: incremental parsers of the client, leaf and route protocols, and the encoders of their frames."""
