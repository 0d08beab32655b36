"""Options as one table of data, and the settings that are read from them."""

from .errors import OptionError
from .settings import QuerySettings
from .table import OPTIONS, Option

__all__ = ["OPTIONS", "Option", "OptionError", "QuerySettings"]
