"""pyjs: a NATS JetStream system in Python. The rooms are described in ARCHITECTURE.md."""

from .version import __version__

__all__ = ["__version__"]
