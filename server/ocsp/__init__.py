"""Asks authorities whether certificates of peers were revoked (OCSP, RFC 6960), as `ocsp_peer` says.

Python's `ssl` cannot verify within the handshake. So it happens after it: nothing that the peer sends is
served before the answer is there. Nothing is stapled to this server's own certificate.
"""
