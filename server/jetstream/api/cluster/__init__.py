"""Requests that several servers answer together: which server answers, and what the meta leader decides."""
