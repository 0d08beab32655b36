"""The connection that options describe.

A context is read here, on the machine that starts the query.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...cli import context
from ...cli.errors import CliError
from ...client import ConnectionOptions
from .errors import OptionError

# Options, and the fields of a context that mean the same.
FIELDS = {
    "servers": "url",
    "creds": "creds",
    "nkey": "nkey",
    "user": "user",
    "password": "password",
    "token": "token",
    "tlsCa": "ca",
    "tlsCert": "cert",
    "tlsKey": "key",
    "tlsFirst": "tls_first",
    "inboxPrefix": "inbox_prefix",
    "domain": "jetstream_domain",
    "jsApiPrefix": "jetstream_api_prefix",
}
# Ways to authenticate: if an option gives one, those of the context do not count.
IDENTITY = ("creds", "nkey", "user", "password", "token")
UNSUPPORTED = {
    "socks_proxy": "a SOCKS proxy",
    "user_jwt": "a JWT beside its seed: put both into a credentials file",
}


def with_context(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of options, completed from the context that they name. Raises OptionError."""
    name = values.get("context")
    if not name:
        return dict(values)
    try:
        fields = context.load(name)
    except CliError as error:
        raise OptionError("context", str(error), "; ".join(error.hints)) from None
    for field, what in UNSUPPORTED.items():
        if fields.get(field) not in {None, "", "none"}:
            raise OptionError("context", f'"{name}" has {what}, which is not supported')
    found = {option: fields[field] for option, field in FIELDS.items() if fields.get(field)}
    found["servers"] = tuple(url.strip() for url in str(found.get("servers", context.DEFAULT_URL)).split(","))
    if fields.get("nsc") and "creds" not in found:
        found["creds"] = fields["nsc"]
    if any(option in values for option in IDENTITY):
        found = {option: value for option, value in found.items() if option not in IDENTITY}
    if "domain" in values or "jsApiPrefix" in values:
        found.pop("domain", None)
        found.pop("jsApiPrefix", None)
    return {**found, **values}


def address(values: Mapping[str, Any]) -> ConnectionOptions:
    """Return the connection that the values of options name. Raises OptionError."""
    if "servers" not in values:
        raise OptionError(
            "servers", "is missing", "say where to connect, or name a context with option context"
        )
    return ConnectionOptions(
        servers=tuple(values["servers"]),
        creds=values.get("creds", ""),
        nkey=values.get("nkey", ""),
        user=values.get("user", ""),
        password=values.get("password", ""),
        token=values.get("token", ""),
        tls_ca=values.get("tlsCa", ""),
        tls_cert=values.get("tlsCert", ""),
        tls_key=values.get("tlsKey", ""),
        tls_first=bool(values.get("tlsFirst", False)),
        inbox_prefix=values.get("inboxPrefix", "_INBOX"),
        timeout=values["timeout"],
    )
