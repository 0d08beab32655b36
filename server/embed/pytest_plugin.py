"""Pytest fixtures; filled by the embedding part."""
