"""The system account: what can be asked of a server there, and what it tells of itself.

Requests `$SYS.REQ.…` are answered with monitoring's documents; events `$SYS.SERVER.…` and `$SYS.ACCOUNT.…`
are published when someone listens. Ordinary accounts may ask about themselves only.
"""

from .part import System

__all__ = ["System"]
