"""Addresses by which other machines reach this one: what a listener on every address advertises.

Loopback, link-local and multicast addresses do not count. Source: nats-server's getNonLocalIPsIfHostIsIPAny.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from contextlib import suppress
from pathlib import Path

EVERYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 compared with, not listened on
_SIOCGIFADDR = 0x8915
_SOMEWHERE = "192.0.2.1"  # RFC 5737: nothing is sent there


def reachable(host: str) -> list[str]:
    """Return `host` as others should see it.

    That is the host itself, or this machine's addresses if the host means every address.
    """
    if host not in EVERYWHERE:
        return [bracketed(host)]
    found = dict.fromkeys([*_ipv4(), *_ipv6()])
    return [bracketed(address) for address in found if _is_global(address)]


def dialable(host: str) -> str:
    """Return what a program on this machine writes before the port to reach a listener on `host`."""
    return "127.0.0.1" if host in EVERYWHERE else bracketed(host)


def bracketed(host: str) -> str:
    """Return a host as it is written before a port: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def _is_global(address: str) -> bool:
    known = ipaddress.ip_address(address)
    return not (known.is_loopback or known.is_link_local or known.is_multicast or known.is_unspecified)


def _ipv4() -> list[str]:
    """Return the address of each interface, or if the system cannot list them, that of the default route."""
    found: list[str] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            from fcntl import ioctl

            for _, name in socket.if_nameindex():
                with suppress(OSError):  # an interface without an address
                    answer = ioctl(asking, _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
                    found.append(socket.inet_ntoa(answer[20:24]))
        except (ImportError, OSError):
            pass
        if not found:
            with suppress(OSError):
                asking.connect((_SOMEWHERE, 9))
                found.append(asking.getsockname()[0])
    return found


def _ipv6() -> list[str]:
    try:
        lines = Path("/proc/net/if_inet6").read_text("ascii").splitlines()
    except OSError:
        return []
    return [str(ipaddress.IPv6Address(int(line.split()[0], 16))) for line in lines if line]
