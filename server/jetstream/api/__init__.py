"""The JetStream API.

One module per family of requests, one table that says which handler serves which subject.
"""
