"""Translates an account's claims into what the server uses: limits, exports, imports, mappings, permissions.

The functions are pure. What the server does not serve is named by `unsupported` and never silently dropped.
"""

from .account_spec import make_spec, unsupported
from .imports import import_spec
from .limits import grants, limit
from .permissions import permissions

__all__ = ["grants", "import_spec", "limit", "make_spec", "permissions", "unsupported"]
