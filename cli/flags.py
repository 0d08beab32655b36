"""The global flags of the command line as data, and the session that collects their values.

Each flag is defined once, here: its names, its environment variable, its help. Every command accepts every
global flag anywhere on its line (`command.py` does that). Values are only collected here; `profile.py` lays
them over those of the context.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cache
from typing import Any, NamedTuple

import click

from ..protocol.lazy_dataclass import dataclass
from .param import DURATION

TEXT, SWITCH, SPAN = "text", "switch", "span"


class GlobalFlag(NamedTuple):
    """One global flag: `--name`, with an optional short form and an optional environment variable."""

    name: str
    help: str
    short: str = ""
    env: str = ""
    metavar: str = ""
    kind: str = TEXT
    negatable: bool = False
    hidden: bool = False
    key: str = ""  # the name its value is stored under, if it is a second spelling of another flag
    choices: tuple[str, ...] = ()


COLORS = ("blue", "cyan", "double", "green", "magenta", "red", "rounded", "yellow")

FLAGS: tuple[GlobalFlag, ...] = (
    GlobalFlag("server", "NATS server urls", short="s", env="NATS_URL", metavar="URL"),
    GlobalFlag("user", "Username or token", env="NATS_USER", metavar="USER"),
    GlobalFlag("password", "Password", env="NATS_PASSWORD", metavar="PASSWORD"),
    GlobalFlag("token", "Token", env="NATS_TOKEN", metavar="TOKEN"),
    GlobalFlag("connection-name", "Name the server shows for the connection", metavar="NAME"),
    GlobalFlag("creds", "User credentials", env="NATS_CREDS", metavar="LOCATION"),
    GlobalFlag("nkey", "User nkey seed", env="NATS_NKEY", metavar="LOCATION"),
    GlobalFlag("jwt", "User JWT, used with --seed", env="NATS_JWT", metavar="LOCATION"),
    GlobalFlag("seed", "User seed, used with --jwt", env="NATS_SEED", metavar="LOCATION"),
    GlobalFlag("tlscert", "TLS public certificate", env="NATS_CERT", metavar="FILE"),
    GlobalFlag("tlskey", "TLS private key", env="NATS_KEY", metavar="FILE"),
    GlobalFlag("tlsca", "TLS certificate authority chain", env="NATS_CA", metavar="FILE"),
    GlobalFlag("tlsfirst", "Perform the TLS handshake first (or --tls-first)", kind=SWITCH, negatable=True),
    GlobalFlag("tls-first", "As --tlsfirst", kind=SWITCH, negatable=True, hidden=True, key="tlsfirst"),
    GlobalFlag("timeout", "Time to wait on responses (default 5s)", env="NATS_TIMEOUT", kind=SPAN),
    GlobalFlag("socks-proxy", "SOCKS5 proxy to connect through", env="NATS_SOCKS_PROXY", metavar="PROXY"),
    GlobalFlag("js-api-prefix", "Subject prefix of the JetStream API", metavar="PREFIX"),
    GlobalFlag("js-event-prefix", "Subject prefix of JetStream advisories", metavar="PREFIX"),
    GlobalFlag("js-domain", "JetStream domain to talk to (or --domain)", metavar="DOMAIN"),
    GlobalFlag("domain", "As --js-domain", metavar="DOMAIN", hidden=True, key="js-domain"),
    GlobalFlag("inbox-prefix", "Prefix of the inbox subjects", metavar="PREFIX"),
    GlobalFlag("colors", "Colour scheme of tables", env="NATS_COLOR", metavar="SCHEME", choices=COLORS),
    GlobalFlag("context", "Connection settings saved under this name", env="NATS_CONTEXT", metavar="NAME"),
    GlobalFlag("no-context", "Use no context, not even the selected one", kind=SWITCH),
    GlobalFlag("trace", "Show the API calls made", kind=SWITCH),
    GlobalFlag("no-pager", "Show long results at once ($PAGER= switches the pager off too)", kind=SWITCH),
)

BY_NAME = {flag.name: flag for flag in FLAGS}


@dataclass()
class CliSession:
    """One run of the command line: the words typed, the global flags found, the answers given.

    columns: the width that tables are to fit although stdout is no terminal; 0 for none.
    picked: the names picked in a watch, by the argument they stand for; None outside of one.
    fitted: the tables that did not fit, each as it was shown and as it is without a width.
    """

    argv: list[str] = field(default_factory=list)
    given: dict[str, object] = field(default_factory=dict)
    answers: list[tuple[str, list[str]]] = field(default_factory=list)  # (flag or "", values) of prompts
    options: list[click.Option] = field(default_factory=list)  # of the command that asked
    asking: set[str] = field(default_factory=set)  # flags that only cause questions to be asked
    replies: Callable[[str], str] | None = None  # answers questions, given their text; None: the terminal
    picked: dict[str, str] | None = None
    columns: int = 0
    fitted: list[tuple[str, str]] = field(default_factory=list)


def session() -> CliSession:
    """Return the session of the command that is running; outside of a command, an empty one."""
    context = click.get_current_context(silent=True)
    found = context.find_root().obj if context is not None else None
    return found if isinstance(found, CliSession) else CliSession()


def options(taken: set[str]) -> list[click.Option]:
    """Return the global flags as click options, without those whose spelling a command has `taken`."""
    made = []
    for flag in FLAGS:
        spellings = [f"--{flag.name}"]
        if flag.short and f"-{flag.short}" not in taken:
            spellings.append(f"-{flag.short}")
        if spellings[0] in taken:
            continue
        if flag.negatable:
            spellings[0] += f"/--no-{flag.name}"
        # The destination has a name of its own, since commands have arguments called `server` or `context`.
        spellings.append("global_" + flag.name.replace("-", "_"))
        made.append(_option(flag, tuple(spellings)))
    return made


@cache  # the root, each group and the command of a line have the same ones
def _option(flag: GlobalFlag, spellings: tuple[str, ...]) -> click.Option:
    def file(context: click.Context, _param: click.Parameter, value: object) -> None:
        root = context.find_root()
        if value is None or not isinstance(root.obj, CliSession):
            return
        root.obj.given[flag.key or flag.name] = value

    kind: Any = click.STRING
    if flag.kind == SPAN:
        kind = DURATION
    elif flag.choices:
        kind = click.Choice(flag.choices)
    shared = {"expose_value": False, "callback": file, "help": flag.help, "hidden": True, "default": None}
    if flag.kind == SWITCH:
        return click.Option(spellings, is_flag=True, **shared)  # type: ignore[arg-type]
    metavar = flag.metavar or ("DURATION" if flag.kind == SPAN else None)
    if flag.name == "context":
        shared["shell_complete"] = _contexts
    return click.Option(spellings, type=kind, metavar=metavar, **shared)  # type: ignore[arg-type]


def _contexts(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    from .context import names

    return names(incomplete)
