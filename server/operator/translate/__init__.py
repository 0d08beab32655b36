"""Translates an account's claims into what the server uses: limits, exports, imports, mappings.

The functions are pure; those for users are in `accounts.token_permissions`.
"""

from .account_spec import make_spec
from .imports import import_spec
from .limits import grants

__all__ = ["grants", "import_spec", "make_spec"]
