"""Writes docs/options.md from the options: `python -m pyjs.server.config.docs > docs/options.md`.

The first line of an option class's docstring becomes the text of its section.
"""

from __future__ import annotations

import sys
from dataclasses import MISSING, Field, fields
from typing import Any

from .flags import FLAGS
from .options import Options, TLSOptions
from .options.field import KEY, SECOND, Spec
from .reload import RESTART
from .support import UNSUPPORTED

_HEAD = """# Options

Written by `python -m pyjs.server.config.docs`; a test compares.

The configuration is in nats-server's language: `key: value`, `key = value` or `key value`; maps in `{ }`,
lists in `[ ]`; `#` and `//` comments; `include file`, relative to the including file; `$NAME` for a key set
before or an environment variable. Keys are case-insensitive. `pyjs-server -t -c file` checks a file and
names file, line and column of whatever is wrong.

Durations are Go's (`"1h2m3.5s"`), sizes take `k m g t` (powers of 1000) and `kb kib mb mib …` (powers of
1024). An unquoted `1m` is the number 1000000; write `"1m"` or `60s` for a minute. The column *reload* says
what a running server follows (SIGHUP or `--signal reload`).

## Stricter than nats-server

These are refused here, and taken by nats-server as something else or noticed only when it starts: a `{`
round the file that is not closed; a lone `/` between entries; a number directly before `]`; a number whose
suffix is unknown or makes it too big; a key without a value in a map; an include that includes itself; TLS
files that cannot be loaded; accounts, users and domains that are named but not there (`system_account`,
`no_auth_user`, `leafnodes.remotes.account`, `jetstream.domain`); `max_payload` over `max_pending`; ports
over 65535. Positions of errors in a list of maps are those of the entry's opening brace.

JetStream's `sync_interval` is unset by default, which here means that a publish is acknowledged after it
was synced to disk (many together); nats-server acknowledges first and syncs every two minutes.
"""


_SHAPES = """## Shapes

A permissions map: `publish` (`pub`, `import`) and `subscribe` (`sub`, `export`), each a subject, a list of
allowed subjects, or `{allow: [...], deny: [...]}`; a subscribe subject may be `"subject queue"`.
`allow_responses`: true or `{max: 1, expires: "2m"}`, the right to publish to the reply subject of what was
received; without a list of allowed subjects nothing else may be published then.

Exports: `{stream: subject}` or `{service: subject}`, with `accounts: [...]` (none: public),
`account_token_position: n`, and for services `response_type: single | stream | chunked`, `threshold: "2s"`,
`latency: subject` or `{subject, sampling: 50%}`, `allow_trace`. Imports: `{stream: {account, subject}}`
with `to` or `prefix` and `allow_trace`, or `{service: {account, subject}}` with `to` and `share`.

Mappings: `source: destination`, `source: {destination, weight: 50%, cluster}` or a list of those.
"""


def page() -> str:
    """Return the whole document."""
    parts = [_HEAD, *_block("## Top level", Options, "", set()), _SHAPES, _not_served(), _flags()]
    return "\n".join(parts).rstrip("\n") + "\n"


def _block(title: str, cls: type[Any], path: str, seen: set[type[Any]]) -> list[str]:
    lines = [title, ""]
    if path:
        lines += [f"{(cls.__doc__ or '').strip().splitlines()[0].rstrip()}", ""]
    lines += ["| key | default | reload | |", "|---|---|---|---|"]
    inner: list[tuple[str, type[Any]]] = []
    for each in fields(cls):
        spec: Spec | None = each.metadata.get(KEY)
        if spec is None:
            continue
        key, *aliases = spec.keys
        also = f" ({', '.join(f'`{a}`' for a in aliases)})" if aliases else ""
        field_path = f"{path}.{each.name}" if path else each.name
        reload = "yes" if spec.reload and field_path not in RESTART else "no"
        lines.append(
            f"| `{key}`{also} | {_default(each, spec)} | {reload} | {spec.doc.replace('|', chr(92) + '|')} |"
        )
        if spec.section is not None:
            inner.append((f"{path}.{key}" if path else key, spec.section))
    lines.append("")
    for name, section in inner:
        if section not in seen:
            seen.add(section)
            title = "tls (the same in every block)" if section is TLSOptions else name
            lines += _block(f"## {title}", section, name, seen)
    return lines


def _default(each: Field[Any], spec: Spec) -> str:
    value = each.default
    if each.default_factory is not MISSING:
        value = each.default_factory()
    if spec.section is not None or value is None or value in ("", [], {}):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and spec.kind in ("duration", "strict_duration", "seconds", "reconnect"):
        return _duration(value)
    return f"{value}" if isinstance(value, (int, str)) else str(getattr(value, "mode", ""))


def _duration(nanoseconds: int) -> str:
    from ...protocol.duration import format_go

    return format_go(nanoseconds) if nanoseconds % SECOND == 0 else f"{nanoseconds / SECOND}s"


def _not_served() -> str:
    lines = [
        "## Not served yet",
        "",
        "Parsed and checked. *warn*: the server starts without it and says so; *refuse*: it does not start.",
        "",
    ]
    lines += ["| option | | why |", "|---|---|---|"]
    lines += [f"| `{row.path}` | {row.action} | {row.why} |" for row in UNSUPPORTED]
    return "\n".join([*lines, ""])


def _flags() -> str:
    lines = ["## Flags", "", "One dash or two; `-x value` or `-x=value`. They win over the file.", ""]
    lines += ["| flag | argument | |", "|---|---|---|"]
    for flag in FLAGS:
        names = ", ".join(f"`-{name}`" for name in flag.names)
        lines.append(f"| {names} | {flag.argument} | {flag.help} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.stdout.write(page())
