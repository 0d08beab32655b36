"""nats-server's command line: its flags, read into options that override those of the configuration file.

A flag has one dash or two, and is written `-x v` or `-x=v`. A bool needs `=` to be false. Flags override the
file, also when it is read again (`CommandLine.apply`). The words `version` and `help` are commands. Nothing
is printed or started here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from ...protocol.lazy_dataclass import dataclass
from .load import finish, load
from .options import ClusterOptions, Options, PeerAuthorization, TLSOptions
from .read.context import suggestion

_SHORT = frozenset("a|p|n|P|m|ms|c|t|sl|l|T|s|r|D|V|VV|DV|DVV|js|sd|h|v".split("|"))  # noqa: SIM905 shorter
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


class FlagError(Exception):
    """The command line is wrong. `usage` is whether a list of the flags would help."""

    def __init__(self, message: str, *, usage: bool = True) -> None:
        self.usage = usage
        super().__init__(message)


class ServerFlag(NamedTuple):
    """One flag.

    names: the short ones first.
    kind: "bool", "int" or "text".
    argument, help: what --help says.
    option: the path of the option that it sets, "" for those that `CommandLine` handles itself.
    """

    names: tuple[str, ...]
    kind: str
    argument: str
    help: str
    option: str = ""


GROUPS: dict[str, tuple[ServerFlag, ...]] = {
    "Server": (
        ServerFlag(("a", "addr", "net"), "text", "host", "Address to listen on (default: 0.0.0.0)", "host"),
        ServerFlag(("p", "port"), "int", "port", "Port for clients (default: 4222, -1 any)"),
        ServerFlag(
            ("n", "name", "server_name"), "text", "name", "Server name (default: its id)", "server_name"
        ),
        ServerFlag(("P", "pid"), "text", "file", "File for the process id", "pid_file"),
        ServerFlag(("m", "http_port"), "int", "port", "Port for monitoring over http"),
        ServerFlag(("ms", "https_port"), "int", "port", "Port for monitoring over https"),
        ServerFlag(("c", "config"), "text", "file", "Configuration file"),
        ServerFlag(("t",), "bool", "", "Check the configuration and exit"),
        ServerFlag(
            ("sl", "signal"),
            "text",
            "signal[=pid]",
            "Send stop, quit, term, reopen, reload or ldm to a process id or pid file",
        ),
        ServerFlag(
            ("client_advertise",), "text", "address", "Address announced to clients", "client_advertise"
        ),
        ServerFlag(
            ("ports_file_dir",),
            "text",
            "dir",
            "Directory for <program>_<pid>.ports",
            "ports_file_dir",
        ),
    ),
    "Logging": (
        ServerFlag(("l", "log"), "text", "file", "Log to a file", "log_file"),
        ServerFlag(("T", "logtime"), "bool", "", "Times in the log (default: true)", "logtime"),
        ServerFlag(("logtime_utc",), "bool", "", "Times in UTC", "logtime_utc"),
        ServerFlag(("s", "syslog"), "bool", "", "Log to syslog", "syslog"),
        ServerFlag(("r", "remote_syslog"), "text", "address", "Log to a syslog server", "remote_syslog"),
        ServerFlag(("D", "debug"), "bool", "", "Debug lines", "debug"),
        ServerFlag(("V", "trace"), "bool", "", "Protocol lines", "trace"),
        ServerFlag(("VV",), "bool", "", "Protocol lines, of the system account too"),
        ServerFlag(("DV",), "bool", "", "Debug and protocol lines"),
        ServerFlag(("DVV",), "bool", "", "Debug and protocol lines, of the system account too"),
        ServerFlag(
            ("log_size_limit",), "int", "bytes", "Size after which the log is rotated", "log_size_limit"
        ),
        ServerFlag(
            ("max_traced_msg_len",),
            "int",
            "bytes",
            "Bytes of a payload shown in protocol lines",
            "max_traced_msg_len",
        ),
    ),
    "JetStream": (
        ServerFlag(("js", "jetstream"), "bool", "", "Enable JetStream", "jetstream.enabled"),
        ServerFlag(
            ("sd", "store_dir"), "text", "dir", "Directory of the stored files", "jetstream.store_dir"
        ),
    ),
    "Authorization": (
        ServerFlag(("user",), "text", "user", "User that clients must name", "authorization.user"),
        ServerFlag(("pass",), "text", "password", "Password of the user", "authorization.password"),
        ServerFlag(("auth",), "text", "token", "Token that clients must send", "authorization.token"),
    ),
    "TLS": (
        ServerFlag(("tls",), "bool", "", "TLS for clients; do not verify them"),
        ServerFlag(("tlscert",), "text", "file", "Certificate of the server"),
        ServerFlag(("tlskey",), "text", "file", "Private key of the certificate"),
        ServerFlag(("tlsverify",), "bool", "", "TLS for clients; verify their certificates"),
        ServerFlag(("tlscacert",), "text", "file", "Certificate authority that verifies clients"),
    ),
    "Cluster": (
        ServerFlag(("routes",), "text", "url,url", "Routes to connect to"),
        ServerFlag(
            ("cluster", "cluster_listen"), "text", "url", "Where to listen for routes; empty disables"
        ),
        ServerFlag(("cluster_name",), "text", "name", "Name of the cluster", "cluster.name"),
        ServerFlag(
            ("no_advertise",), "bool", "", "Do not announce the cluster to clients", "cluster.no_advertise"
        ),
        ServerFlag(
            ("cluster_advertise",), "text", "address", "Address announced to servers", "cluster.advertise"
        ),
        ServerFlag(
            ("connect_retries",),
            "int",
            "number",
            "Retries to connect to an announced server",
            "cluster.connect_retries",
        ),
    ),
    "Profiling": (ServerFlag(("profile",), "int", "port", "Port of the profiler", "prof_port"),),
    "Common": (
        ServerFlag(("h", "help"), "bool", "", "Show this message"),
        ServerFlag(("v", "version"), "bool", "", "Show the version"),
        ServerFlag(("help_tls",), "bool", "", "Show how TLS is configured"),
    ),
}
FLAGS = tuple(flag for group in GROUPS.values() for flag in group)
_BY_NAME = {name: flag for flag in FLAGS for name in flag.names}


@dataclass(slots=True)
class CommandLine:
    """The flags that were given, each by the last of its names. A flag that was not given is absent."""

    given: dict[str, Any] = field(default_factory=dict)
    command: str = ""

    def get(self, name: str) -> Any:
        """Return the value of a flag, None if it was not given."""
        return self.given.get(_BY_NAME[name].names[-1])

    def options(self, environment: Mapping[str, str] | None = None) -> Options:
        """Return the options: the configuration file's, then the flags. Raises ConfigError or FlagError."""
        config = self.get("config")
        if config:
            return load(config, environment, override=self.apply)
        return finish(Options(), environment, override=self.apply)

    def apply(self, options: Options) -> None:
        """Set the options that the flags give. Raises FlagError."""
        for flag in FLAGS:
            value = self.get(flag.names[0])
            if value is None or not flag.option:
                continue
            target: Any = options
            *path, name = flag.option.split(".")
            if path == ["cluster"] and options.cluster is None:
                options.cluster = ClusterOptions()
            for step in path:
                target = getattr(target, step)
            setattr(target, name, value)
        for name, put in _PUT.items():
            value = self.get(name)
            if value is not None:
                put(options, value)
        _tls(self, options)
        if self.get("routes") and (options.cluster is None or options.cluster.port is None):
            raise FlagError("solicited routes require cluster capabilities, e.g. --cluster", usage=False)


def parse(argv: Sequence[str]) -> CommandLine:
    """Read a command line without the program's name. Raises FlagError."""
    line = CommandLine()
    rest = list(argv)
    while rest:
        word = rest[0]
        if not re.match(r"--?[^-]", word) or word == "-":
            break
        rest.pop(0)
        name, equals, text = word.lstrip("-").partition("=")
        flag = _BY_NAME.get(name)
        if flag is None:
            hint = suggestion(name, _BY_NAME)
            raise FlagError(f"flag provided but not defined: -{name}" + (f" ({hint})" if hint else ""))
        if flag.kind == "bool" and not equals:
            line.given[flag.names[-1]] = True
            continue
        if not equals:
            if not rest:
                raise FlagError(f"flag needs an argument: -{name}")
            text = rest.pop(0)
        line.given[flag.names[-1]] = _value(flag, name, text)
    if rest and rest[0] == "--":
        rest.pop(0)
    if rest:
        if rest[0].lower() not in ("version", "help"):
            raise FlagError(f'unrecognized command: "{rest[0]}"', usage=False)
        line.command = rest[0].lower()
    return line


def _value(flag: ServerFlag, name: str, text: str) -> str | int | bool:
    if flag.kind == "text":
        return text
    if flag.kind == "bool":
        if text not in (*_TRUE, *_FALSE):
            raise FlagError(f'invalid boolean value "{text}" for -{name}: parse error')
        return text in _TRUE
    try:
        return int(text, 0)
    except ValueError:
        raise FlagError(f'invalid value "{text}" for flag -{name}: parse error') from None


def _possible(value: int) -> int:
    # the system's bind may accept a port modulo 65536
    if not -1 <= value <= 65535:
        raise FlagError(f"{value} is no port: 0 to 65535, or -1 for any free port", usage=False)
    return value


def _port(options: Options, value: int) -> None:
    options.port = {0: 4222, -1: 0}.get(_possible(value), value)


def _http(options: Options, value: int) -> None:
    options.http_port = {0: None, -1: 0}.get(_possible(value), value)


def _https(options: Options, value: int) -> None:
    options.https_port = {0: None, -1: 0}.get(_possible(value), value)


def _verbose(options: Options, value: bool) -> None:
    options.trace = options.trace_verbose = value


def _debug_trace(options: Options, value: bool) -> None:
    options.debug = options.trace = value


def _debug_verbose(options: Options, value: bool) -> None:
    options.debug = options.trace = options.trace_verbose = value


def _routes(options: Options, value: str) -> None:
    if options.cluster is None:
        options.cluster = ClusterOptions()
    options.cluster.routes = [url.strip() for url in value.split(",") if url.strip()]


def _cluster(options: Options, value: str) -> None:
    """Set the cluster's listener from `scheme://[user:password@]host:port`; an empty text disables it."""
    if options.cluster is None:
        options.cluster = ClusterOptions()
    cluster = options.cluster
    if not value:
        cluster.port = None
        return
    match = re.fullmatch(r"[a-z][a-z0-9+.-]*://(?:([^@]*)@)?(\[[^\]]*\]|[^:/\[\]]*):(-1|[0-9]+)/?", value)
    if match is None:
        raise FlagError(f"--cluster must be a url such as nats://host:6222, got {value!r}", usage=False)
    credentials, host, port = match.groups()
    cluster.host = host.strip("[]") or cluster.host
    cluster.port = {0: None, -1: 0}.get(_possible(int(port)), int(port))
    cluster.authorization = None
    if credentials is not None:
        user, colon, password = credentials.partition(":")
        if not colon:
            raise FlagError("expected cluster password to be set", usage=False)
        cluster.authorization = PeerAuthorization(user=user, password=password)


_PUT: dict[str, Callable[[Options, Any], None]] = {
    "port": _port,
    "http_port": _http,
    "https_port": _https,
    "VV": _verbose,
    "DV": _debug_trace,
    "DVV": _debug_verbose,
    "cluster": _cluster,
    "routes": _routes,
}


def _tls(line: CommandLine, options: Options) -> None:
    if line.get("tls") is False:
        options.tls = None
        return
    if not any(line.get(name) for name in ("tls", "tlscert", "tlskey", "tlsverify", "tlscacert")):
        return
    if not line.get("tlscert"):
        raise FlagError("TLS Server certificate must be present and valid", usage=False)
    if not line.get("tlskey"):
        raise FlagError("TLS Server private key must be present and valid", usage=False)
    options.tls = TLSOptions(
        cert_file=line.get("tlscert"),
        key_file=line.get("tlskey"),
        ca_file=line.get("tlscacert") or "",
        verify=bool(line.get("tlsverify")),
    )


_SECRET = re.compile(r"(--?(?:user|pass|auth))(=.*)?")
_URLS = re.compile(r"(--?(?:routes|cluster|cluster_listen))(=.*)?")


def redacted(argv: Sequence[str]) -> list[str]:
    """Return a command line without passwords, tokens and the user info of URLs, so that it may be shown."""
    shown: list[str] = []
    hide: Callable[[str], str] | None = None
    for word in argv:
        if hide is not None:
            shown.append(hide(word))
            hide = None
            continue
        for pattern, how in ((_SECRET, lambda _: "[REDACTED]"), (_URLS, _hide_user)):
            match = pattern.fullmatch(word)
            if match is None:
                continue
            if match.group(2) is None:
                hide = how
                shown.append(word)
            else:
                shown.append(f"{match.group(1)}={how(match.group(2)[1:])}")
            break
        else:
            shown.append(word)
    return shown


def _hide_user(urls: str) -> str:
    return re.sub(r"//[^@/,]*@", "//[REDACTED]@", urls)


def usage(program: str) -> str:
    """Return the text of --help."""
    lines = [f"Usage: {program} [options]"]
    for title, group in GROUPS.items():
        lines += ["", f"{title} Options:"]
        for flag in group:
            names = ", ".join(("-" if n in _SHORT else "--") + n for n in flag.names)
            left = f"    {names}" + (f" <{flag.argument}>" if flag.argument else "")
            lines.append(f"{left:<40} {flag.help}" if len(left) < 40 else f"{left}\n{'':<40} {flag.help}")
    return "\n".join(lines) + "\n"
