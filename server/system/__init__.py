"""The system account: the requests about a server that are answered there, and the events it publishes.

Requests `$SYS.REQ.…` are answered with monitoring's documents. Events `$SYS.SERVER.…` and `$SYS.ACCOUNT.…`
are published if someone listens. Ordinary accounts may ask about themselves only.
"""

from .system import System

__all__ = ["System"]
