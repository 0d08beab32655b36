"""The connection settings of a run: the context, overlaid by environment variables and flags.

Promises: a flag takes precedence over its variable, and a variable over the context; what is not given stays
as in the context. It never connects and never asks.
"""

from __future__ import annotations

import os
from dataclasses import field

from ..protocol.lazy_dataclass import dataclass
from . import context, flags
from .errors import NotFoundError
from .param import DURATION

SECOND = 1_000_000_000
DEFAULT_TIMEOUT = 5 * SECOND

# flag to field of the context file
OVERLAY = {
    "server": "url",
    "user": "user",
    "password": "password",
    "token": "token",
    "creds": "creds",
    "nkey": "nkey",
    "jwt": "user_jwt",
    "seed": "user_seed",
    "tlscert": "cert",
    "tlskey": "key",
    "tlsca": "ca",
    "tlsfirst": "tls_first",
    "socks-proxy": "socks_proxy",
    "js-api-prefix": "jetstream_api_prefix",
    "js-event-prefix": "jetstream_event_prefix",
    "js-domain": "jetstream_domain",
    "inbox-prefix": "inbox_prefix",
    "colors": "color_scheme",
}


def with_scheme(url: str) -> str:
    """Return a URL as it was given, with `nats://` in front if it names no scheme."""
    return url if "://" in url else f"nats://{url}"


@dataclass()
class Profile:
    """The settings in force.

    fields: those of a context file.
    timeout: ns.
    """

    context: str = ""  # the name of the context they come from, if any
    fields: dict[str, object] = field(default_factory=lambda: dict(context.FIELDS))
    timeout: int = DEFAULT_TIMEOUT
    trace: bool = False
    connection_name: str = ""
    overridden: tuple[str, ...] = ()  # the environment variables that were used

    def text(self, name: str) -> str:
        """Return a text field; empty if it is unset."""
        return str(self.fields.get(name) or "")

    @property
    def servers(self) -> list[str]:
        """The server URLs, in order; the default one if none is given."""
        given = [url.strip() for url in self.text("url").split(",") if url.strip()]
        return given or [context.DEFAULT_URL]

    @property
    def api_prefix(self) -> str:
        """The subject prefix of the JetStream API: `$JS.API`, a domain's, or the one given literally."""
        prefix, domain = self.text("jetstream_api_prefix"), self.text("jetstream_domain")
        if prefix:
            return prefix.removesuffix(".")
        return f"$JS.{domain}.API" if domain else "$JS.API"

    @property
    def domain(self) -> str:
        """The JetStream domain that was asked for, or an empty string."""
        return self.text("jetstream_domain")


def given(session: flags.CliSession) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return the flags given on the line, completed from the environment; and the variables used."""
    found = dict(session.given)
    used = []
    for flag in flags.FLAGS:
        name = flag.key or flag.name
        value = os.environ.get(flag.env, "") if flag.env else ""
        if not value or name in found:
            continue
        used.append(flag.env)
        found[name] = DURATION.convert(value, None, None) if flag.kind == flags.SPAN else value
    return found, tuple(used)


def overlay(fields: dict[str, object], settings: dict[str, object]) -> dict[str, object]:
    """Return the `fields` of a context, overlaid by those flags that have a field and a value."""
    result = dict(fields)
    for flag, name in OVERLAY.items():
        value = settings.get(flag)
        if value not in (None, ""):
            result[name] = value
    if "js-domain" in settings and "js-api-prefix" not in settings:
        result["jetstream_api_prefix"] = ""  # the domain given now, not the saved prefix
    # As in `nats`, a user without a password is a token.
    if settings.get("user") and not settings.get("password") and not result.get("password"):
        result["token"], result["user"] = settings["user"], ""
    if result["socks_proxy"] == "none":
        result["socks_proxy"] = ""
    return result


def resolve(session: flags.CliSession | None = None) -> Profile:
    """Return the profile of a run: its context, with the overlay. Raises CliError for an unknown context."""
    settings, used = given(session or flags.session())
    name = str(settings.get("context") or "")
    fields: dict[str, object] = dict(context.FIELDS)
    if settings.get("no-context"):
        name = ""
    elif name:
        fields = context.load(name)
    else:
        name = context.selected()
        if name and not context.exists(name):
            raise NotFoundError(
                f'the selected context "{name}" does not exist any more',
                "'context select' chooses another, 'context unselect' none",
            )
        if name:
            fields = context.load(name)
    timeout = settings.get("timeout")
    return Profile(
        context=name,
        fields=overlay(fields, settings),
        timeout=timeout if isinstance(timeout, int) and timeout > 0 else DEFAULT_TIMEOUT,
        trace=bool(settings.get("trace")),
        connection_name=str(settings.get("connection-name") or ""),
        overridden=used,
    )


def of_context(name: str) -> Profile:
    """Return the settings of a context as they are, with the run's timeout and trace. Raises CliError."""
    mine = resolve()
    return Profile(context=name, fields=context.load(name), timeout=mine.timeout, trace=mine.trace)
