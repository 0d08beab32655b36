"""`pyjs account tls`: the chain of certificates that the server's TLS was verified by."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.errors import CliError, UsageError
from ...cli.output import FLAG, LIST, NAME, NUMBER, TIME, WORD, Column, Table
from ...cli.param import DURATION

Info = dict[str, Any]
SECOND = 1_000_000_000
CERTIFICATES = Table(
    "certificates",
    "Certificates",
    (
        Column("number", "Number", NUMBER),
        Column("subject", "Subject", NAME),
        Column("authority", "CA", FLAG),
        Column("expires", "Expires", TIME),
        Column("status", "Status", WORD),
        Column("dns_names", "DNS Names", LIST),
        Column("addresses", "Addresses", LIST),
        Column("uris", "URIs", LIST, wide=True),
        Column("emails", "Emails", LIST, wide=True),
        Column("serial", "Serial", NAME, wide=True),
        Column("signed_with", "Signed With", WORD, wide=True),
        Column("pem", "PEM", NAME, wide=True),
    ),
    key="subject",
    spare=("addresses", "authority", "dns_names"),
)
GOOD, SOON, EXPIRED = "good", "expires soon", "expired"
SHORT = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
}
OTHER_NAMES = {"dns_names": "DNS", "addresses": "IP Address", "uris": "URI", "emails": "email"}
LABELS = {"dns_names": "DNS Names", "addresses": "IP Addresses", "uris": "URIs", "emails": "Email Addresses"}


@click.command(cls=Command)
@output.listing(CERTIFICATES)
@click.option(
    "--expire-warn", type=DURATION, default="1w", help="Fail if one expires this soon (default: 1w; 0s: not)."
)
@click.option("--ocsp", is_flag=True, help="Is refused: Python's ssl module asks for no OCSP responses.")
@click.option("--pem/--no-pem", default=True, help="Show the certificates in PEM (default: yes).")
async def tls(expire_warn: int, ocsp: bool, pem: bool) -> None:
    """Show the verified certificates of the server connected to; fail if one expires soon."""
    if ocsp:
        raise UsageError(
            "pyjs cannot show OCSP responses: Python's ssl module does not ask servers for them",
            "'openssl s_client -status -connect HOST:PORT' does, where the server begins with TLS",
        )
    async with connect() as connection:
        url = connection.url
        writer = getattr(connection.nc._transport, "_io_writer", None)  # nats-py has no public way to get it
        secured = writer.get_extra_info("ssl_object") if writer is not None else None
        if secured is None:
            raise CliError(
                f"the connection to {url} has no TLS", "a URL tls://… or --tlsca FILE asks the server for it"
            )
        found = [_record(number, each, expire_warn) for number, each in enumerate(_chain(secured), 1)]
    if not found:
        raise CliError(f"the certificate of {url} was not verified")
    output.show(CERTIFICATES.of(found), text="\n".join(_lines(found, pem=pem)))
    bad = [each for each in found if each["status"] != GOOD]
    if bad:
        first = bad[0]
        raise CliError(f"certificate {first['number']} ({first['subject']}) {_end(first)}")


def _chain(secured: ssl.SSLObject) -> list[Any]:
    """Return the certificates from the server's to the authority's.

    Python 3.13 has a public method for it, and versions before it a private one.
    """
    inner = getattr(secured, "_sslobj")  # noqa: B009 - it is not in the type stubs
    return list(inner.get_verified_chain() or ())


def _record(number: int, certificate: Any, soon: int) -> Info:
    from ...server.config.certificate import is_authority, signature_algorithm

    encoded = ssl.PEM_cert_to_DER_cert(certificate.public_bytes())
    fields = certificate.get_info()
    end = ssl.cert_time_to_seconds(fields["notAfter"])
    now = time.time()
    others = fields.get("subjectAltName", ())
    return {
        "number": number,
        "subject": ",".join(_names(fields["subject"])),
        "authority": is_authority(encoded),
        "expires": f"{datetime.fromtimestamp(end, UTC):%Y-%m-%dT%H:%M:%SZ}",
        "status": EXPIRED if end <= now else SOON if end - now < soon / SECOND else GOOD,
        **{name: [value for kind, value in others if kind == said] for name, said in OTHER_NAMES.items()},
        "serial": str(int(fields["serialNumber"], 16)),
        "signed_with": signature_algorithm(encoded),
        "pem": ssl.DER_cert_to_PEM_cert(encoded),
    }


def _names(subject: tuple[tuple[tuple[str, str], ...], ...]) -> Iterator[str]:
    """Yield the parts of a distinguished name, the last one first, as RFC 4514 writes them."""
    for part in reversed(subject):
        yield "+".join(f"{SHORT.get(name, name)}={_escaped(value)}" for name, value in part)


def _escaped(value: str) -> str:
    return "".join(f"\\{each}" if each in ',+"\\<>;=' else each for each in value)


def _end(found: Info) -> str:
    verb = "expired at" if found["status"] == EXPIRED else "expires soon, at"
    return f"{verb} {render.when(found['expires'])}"


def _lines(found: list[Info], *, pem: bool) -> Iterator[str]:
    """Yield what people see: as in `nats`, comments and PEM, so that it may go into a file."""
    yield "# TLS Verified Chains count: 1"
    for each in found:
        authority = "true" if each["authority"] else "false"
        yield f'\n# chain=1 cert={each["number"]} isCA={authority} Subject="{each["subject"]}"'
        if each["status"] != GOOD:
            yield f"# {each['status'].upper()}"
        yield f"#   Expiration: {render.when(each['expires'])}"
        names = {label: ", ".join(each[name]) for name, label in LABELS.items()}
        yield from (f"#   SAN: {label}: {values}" for label, values in names.items() if values)
        yield f"#   Serial: {each['serial']}"
        yield f"#   Signed-with: {each['signed_with']}"
        if pem:
            yield each["pem"].rstrip("\n")
