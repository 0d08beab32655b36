"""The server's configuration: nats-server's language read into typed options.

`load(path)` gives `Options` or raises `ConfigError`, whose problems name file, line and column. Nothing here
starts anything; the only files opened are configurations, what they include, and certificates to check.
"""

from .load import load, load_text
from .options import Options
from .tree import ConfigError, ConfigProblem, SourcePosition

__all__ = ["ConfigError", "ConfigProblem", "Options", "SourcePosition", "load", "load_text"]
