"""The requests that several servers answer together: which one, and what the meta leader decides."""
