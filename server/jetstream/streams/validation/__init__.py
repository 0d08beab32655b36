"""Validation of a stream's configuration, when it is created and when it is changed."""
