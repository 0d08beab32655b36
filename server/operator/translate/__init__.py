"""From an account's claims to what the server's parts need: limits, exports, imports, mappings, permissions.

Pure: claims in, values out. What the server does not serve is named by `unserved`, never silently dropped.
"""

from .account_spec import draft, unserved
from .imports import link
from .limits import grants, limit
from .permissions import permissions

__all__ = ["draft", "grants", "limit", "link", "permissions", "unserved"]
