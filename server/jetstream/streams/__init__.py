"""Streams: validation, ingest, limits, mirrors and sources, and the commits that make messages durable."""
