"""Makes docs/options.md from the options: `python -m pyjs.server.config.docs --write`.

Without `--write` the page goes to stdout. It is complete before the file is touched.
The first line of an option class's docstring becomes the text of its section.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from .flags import FLAGS
from .options import Options, TLSOptions
from .options.field import KEY, SECOND, OptionSpec
from .reload import RESTART
from .support import UNSUPPORTED

PAGE = Path(__file__).resolve().parents[2] / "docs" / "options.md"

_HEAD = """# Options

Every option of the server's configuration, block by block. `python -m pyjs.server.config.docs --write`
writes this page, and a test compares.

```
server_name: hub
listen: 0.0.0.0:4222
jetstream { store_dir: "/var/lib/nats", max_file: 10GB }
leafnodes { port: 7422 }
include accounts.conf
```

The configuration is in nats-server's language:

- `key: value`, `key = value` or `key value`; maps in `{ }`, lists in `[ ]`; comments after `#` or `//`. Case
  does not matter in keys.
- `include file` reads another file, relative to the one that includes it.
- `$NAME` is the value of a key that was set before, or of an environment variable.
- Durations are written as `"1h2m3.5s"`, and sizes with `k m g t` (powers of 1000) or `kb kib mb mib …`
  (powers of 1024). An unquoted `1m` is the number 1000000: write `"1m"` or `60s` for a minute.
- 0 for a time or size that cannot be 0 (`ping_interval`, `tls.timeout`, `max_payload`) is the default.

`pyjs-server -t -c file` checks a file, and names the file, line and column of each mistake.

In the tables, an empty default means that the option is unset. *reload* says whether a running server
follows a change (SIGHUP or `--signal reload`); any other change makes it refuse the reload. A reload reads
the certificates of `tls` blocks again, also where the paths are the same. Options that are accepted and not
supported are marked; the [reasons](#not-supported-yet) are at the end.

CONTENTS

## Stricter than nats-server

pyjs refuses the following, also with `-t`. nats-server takes it as something else:

- a `{` around the whole file that is not closed
- a lone `/` after a value
- a number that its suffix makes too big

On a file that includes itself, nats-server overflows its stack. It refuses these only when it starts:

- accounts, users and domains that do not exist or are invalid (`system_account`, `no_auth_user`,
  `leafnodes.remotes.account`, `jetstream.domain`)
- `max_payload` above `max_pending`, and ports above 65535

For an error in a list of maps, the position is that of the entry's opening brace.

`jetstream.sync_interval` is unset by default. Then a publish is acknowledged after it was synced to disk,
together with others; nats-server acknowledges first and syncs every two minutes.
"""


_SHAPES = """## Permissions, exports, imports and mappings

**Permissions** are a map with `publish` (`pub`, `import`) and `subscribe` (`sub`, `export`). Each is a
subject, a list of allowed subjects, or `{allow: [...], deny: [...]}`. A subscribe subject may be `"subject
queue"`. `allow_responses` is true or `{max: 1, expires: "2m"}`: the right to publish to the reply subject of
a received message. Without a list of allowed subjects nothing else may be published then.

**Exports** are `{stream: subject}` or `{service: subject}`, with `accounts: [...]` (none: public) and
`account_token_position: n`. A service may have `response_type: single | stream | chunked`, `threshold:
"2s"`, `latency: subject` or `{subject, sampling: 50%}`, and `allow_trace`: traces of requests go on in this
account.

**Imports** are `{stream: {account, subject}}` with `to` or `prefix` and `allow_trace` (traces of messages go
on in this account), or `{service: {account, subject}}` with `to` and `share`.

**Traces** are what servers tell of a message with the header `Nats-Trace-Dest: subject`: where it came in,
what it was mapped to, which imports, streams, clients and servers it went to, or why not. Each server that it
passes publishes one event to that subject, which the sender must be permitted to publish to. With
`Nats-Trace-Only: true` nobody gets the message itself. `msg_trace: subject` or `{dest: subject, sampling:
50%}` in an account has messages traced whose header `traceparent` is sampled (W3C Trace Context), without a
`Nats-Trace-Dest`. `pyjs trace` shows the way of a message.

**Mappings** are `source: destination`, `source: {destination, weight: 50%, cluster}`, or a list of the
latter.
"""


def page() -> str:
    """Return the whole document."""
    parts = [*_block("## Top level", Options, "", set()), _SHAPES, _not_supported(), _flags()]
    text = "\n".join([_HEAD, *parts]).rstrip("\n") + "\n"
    return text.replace("CONTENTS", _contents(text))


def _contents(text: str) -> str:
    """Return links to the headings; of the blocks of the configuration, to those at the top level."""
    titles = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    links = {title: f"[{title}](#{_anchor(title)})" for title in titles}
    others = [link for title, link in links.items() if title != title.lower()]
    blocks = [link for title, link in links.items() if title == title.lower() and "." not in title]
    return "\n".join(f"- {link}" for link in (*others, f"Blocks: {', '.join(blocks)}"))


def _anchor(title: str) -> str:
    """Return the anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _block(title: str, cls: type[Any], path: str, seen: set[type[Any]]) -> list[str]:
    lines = [title, ""]
    if path:
        lines += [f"{(cls.__doc__ or '').strip().splitlines()[0].rstrip()}", ""]
    lines += ["| key | default | reload | meaning |", "|---|---|---|---|"]
    inner: list[tuple[str, type[Any]]] = []
    for each in fields(cls):
        spec: OptionSpec | None = each.metadata.get(KEY)
        if spec is None:
            continue
        key, *aliases = spec.keys
        also = f" ({', '.join(f'`{a}`' for a in aliases)})" if aliases else ""
        field_path = f"{path}.{each.name}" if path else each.name
        reload = "yes" if spec.reload and field_path not in RESTART else "no"
        text = f"{spec.doc}{_support(field_path)}".replace("|", chr(92) + "|")
        lines.append(f"| `{key}`{also} | {_default(each, spec)} | {reload} | {text} |")
        if spec.section is not None:
            inner.append((f"{path}.{key}" if path else key, spec.section))
    lines.append("")
    for name, section in inner:
        if section not in seen:
            seen.add(section)
            title = "tls (the same in every block)" if section is TLSOptions else name
            lines += _block(f"## {title}", section, name, seen)
    return lines


def _support(path: str) -> str:
    """Return what is said of an option that is not supported."""
    for row in UNSUPPORTED:
        if row.path.replace(".*", "") == path:
            return " *Not supported: refused.*" if row.action == "refuse" else " *Not supported.*"
    return ""


def _default(each: Field[Any], spec: OptionSpec) -> str:
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


def _not_supported() -> str:
    lines = [
        "## Not supported yet",
        "",
        "These options are read and checked. *warn*: the server logs a warning and starts without the",
        "option; *refuse*: it does not start, since that would be unsafe.",
        "",
    ]
    lines += ["| option | action | why |", "|---|---|---|"]
    lines += [f"| `{row.path}` | {row.action} | {row.why} |" for row in UNSUPPORTED]
    return "\n".join([*lines, ""])


def _flags() -> str:
    lines = [
        "## Flags",
        "",
        "Flags have one dash or two, and are written `-x value` or `-x=value`. They override the file.",
        "",
    ]
    lines += ["| flag | argument | meaning |", "|---|---|---|"]
    for flag in FLAGS:
        names = ", ".join(f"`-{name}`" for name in flag.names)
        text = flag.help.replace("<", chr(92) + "<")
        support = _support(flag.option)
        lines.append(f"| {names} | {flag.argument} | {text}{'.' if support else ''}{support} |")
    return "\n".join([*lines, ""])


def main(arguments: Sequence[str], file: Path = PAGE) -> None:
    """Print the page or, with `--write`, write it to `file`."""
    parser = argparse.ArgumentParser(prog="python -m pyjs.server.config.docs")
    parser.add_argument("--write", action="store_true", help=f"write {file}")
    asked = parser.parse_args(arguments)
    text = page()
    if asked.write:
        file.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
