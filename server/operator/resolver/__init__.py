"""Resolvers: where the tokens of accounts come from: memory, HTTP, or a directory and other servers."""

from .make import make_resolver, reloading_resolver
from .resolver import AccountAbsentError, Resolver, ResolverError

__all__ = ["AccountAbsentError", "Resolver", "ResolverError", "make_resolver", "reloading_resolver"]
