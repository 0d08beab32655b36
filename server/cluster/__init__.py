"""Clusters: what several servers decide together."""
