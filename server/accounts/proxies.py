"""Trusted proxies: they sign the nonce of each connection that they pass on (`proxy_sig` in CONNECT)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

NOT_TRUSTED = "proxy is not trusted"
REQUIRED = "proxy connection required"


def trusted_proxy(trusted: Sequence[str], nonce: bytes, signature: str) -> str | None:
    """Return the public key of the trusted proxy that signed a nonce.

    "" is a connection without a proxy, or any if none is trusted; None is a proxy that is not trusted.
    """
    from ...keys.nkey import verify

    if not signature or not trusted:
        return ""
    try:
        raw = base64.b64decode(signature + "=" * (-len(signature) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return next((key for key in trusted if nonce and verify(key, nonce, raw)), None)
