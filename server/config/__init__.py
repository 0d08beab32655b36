"""The server's configuration: text in nats-server's language, read into typed options.

`load(path)` returns `Options` or raises `ConfigError`, whose problems name file, line and column. Nothing
here starts anything. The only files opened are configurations, the files they include or name (tokens of
operators), and certificates to check.
"""

from .load import load, load_text
from .options import Options
from .tree import ConfigError, ConfigProblem, SourcePosition

__all__ = ["ConfigError", "ConfigProblem", "Options", "SourcePosition", "load", "load_text"]
