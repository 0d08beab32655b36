"""From an account's claims to what the server's parts need: limits, exports, imports, mappings, permissions.

Pure: claims in, values out. What the server does not serve is named by `unsupported`, never silently dropped.
"""

from .account_spec import make_spec, unsupported
from .imports import import_spec
from .limits import grants, limit
from .permissions import permissions

__all__ = ["grants", "import_spec", "limit", "make_spec", "permissions", "unsupported"]
