"""Streams: configuration rules, the way in, limits, copies, and the commits that make them durable."""
