"""Key-value and object buckets: how they are laid out on streams (ADR-8, ADR-20).

`naming` says which names of buckets and keys there are, `key_value` and `object_store` the configuration of
the streams, their subjects and headers. Everything is pure: the caller sends the requests.
"""
