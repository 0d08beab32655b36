"""The JetStream API.

Each family of requests has a module, and one table says which handler serves which subject.
"""
