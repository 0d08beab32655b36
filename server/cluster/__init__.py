"""Clusters: Raft groups of several servers, and how a server joins, runs and leaves one."""
