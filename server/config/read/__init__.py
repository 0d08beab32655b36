"""Reads the tree of a configuration into options: one reader per kind of value."""
