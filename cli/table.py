"""The command table: every command of pyjs as data, and how others add commands.

A command is a row: its name, `module:attribute`, a summary, aliases. Nothing is imported before it is called.
Third parties add rows with the entry point group `pyjs.plugins`: the name of the entry point is the name of
the command, and its value is the `module:attribute` of a click command.
"""

from __future__ import annotations

from typing import Any

import click

from .command import CommandGroup, CommandRow, load

PLUGIN_GROUP = "pyjs.plugins"

CORE, JETSTREAM, ADMIN, OTHER = "Messaging", "JetStream", "Administration", "Other commands"

ROWS: tuple[CommandRow, ...] = (
    CommandRow(
        "account",
        "pyjs.plugins.account:account",
        "Account information and status",
        ("a",),
        section=ADMIN,
    ),
    CommandRow(
        "apply",
        "pyjs.plugins.provision.apply:apply",
        "Create and change what documents declare",
        section=JETSTREAM,
    ),
    CommandRow(
        "audit",
        "pyjs.plugins.audit:audit",
        "Save what servers say in a file, and examine it",
        section=ADMIN,
    ),
    CommandRow("auth", "pyjs.plugins.auth:auth", "Operators, accounts, users and nkeys", section=ADMIN),
    CommandRow(
        "backup",
        "pyjs.plugins.backup.command:backup",
        "Save all Streams, and verify backups",
        section=JETSTREAM,
    ),
    CommandRow("bench", "pyjs.plugins.bench:bench", "Measure what a server achieves", section=OTHER),
    CommandRow(
        "cheat", "pyjs.plugins.cheat.command:cheat", "Commands for what people do often", section=OTHER
    ),
    CommandRow("completion", "pyjs.plugins.completion:completion", "Shell completion scripts", section=OTHER),
    CommandRow(
        "consumer",
        "pyjs.plugins.consumer:consumer",
        "JetStream Consumer management",
        ("con", "obs", "c"),
        section=JETSTREAM,
    ),
    CommandRow(
        "context",
        "pyjs.plugins.context:context",
        "Manage NATS connection settings",
        ("ctx",),
        section=ADMIN,
    ),
    CommandRow(
        "counter",
        "pyjs.plugins.counter:counter",
        "Counters on JetStream",
        ("ctr",),
        section=JETSTREAM,
    ),
    CommandRow("demo", "pyjs.plugins.demo:demo", "Played and checked demonstrations", section=OTHER),
    CommandRow(
        "dlq",
        "pyjs.plugins.dlq:dlq",
        "Dead letters: what consumers gave up",
        section=JETSTREAM,
    ),
    CommandRow(
        "doctor",
        "pyjs.plugins.doctor.command:doctor",
        "A health check: what is wrong, or will be soon",
        section=ADMIN,
    ),
    CommandRow(
        "errors",
        "pyjs.plugins.error_codes:errors",
        "What error codes mean",
        ("err", "error"),
        section=OTHER,
    ),
    CommandRow(
        "events",
        "pyjs.plugins.events.command:events",
        "What happens: advisories and metrics",
        ("event", "e"),
        section=ADMIN,
    ),
    CommandRow(
        "explain",
        "pyjs.plugins.explain:explain",
        "Why nothing arrives, and who hears a message",
        section=ADMIN,
    ),
    CommandRow(
        "export",
        "pyjs.plugins.provision.export:export",
        "Streams, consumers and buckets as documents",
        section=JETSTREAM,
    ),
    CommandRow("help", "pyjs.plugins.help:help_command", "Help for a command", section=OTHER),
    CommandRow("kv", "pyjs.plugins.kv:kv", "Key-value buckets", section=JETSTREAM),
    CommandRow(
        "latency",
        "pyjs.plugins.bench.latency:latency",
        "How long messages take from one server to another",
        ("lat",),
        section=OTHER,
    ),
    CommandRow("nsc", "pyjs.plugins.nsc:nsc", "Manage operators, accounts and users", section=ADMIN),
    CommandRow(
        "object",
        "pyjs.plugins.object:object_store",
        "Object buckets: files of any size",
        ("obj",),
        section=JETSTREAM,
    ),
    CommandRow(
        "pipeline",
        "pyjs.plugins.pipeline:pipeline",
        "Streams through Spark: declared pipelines",
        section=JETSTREAM,
    ),
    CommandRow(
        "plan",
        "pyjs.plugins.provision.plan:plan",
        "What differs between documents and servers",
        section=JETSTREAM,
    ),
    CommandRow(
        "plugins", "pyjs.plugins.nats_plugins:plugins", "How commands are added", hidden=True, section=OTHER
    ),
    CommandRow(
        "publish",
        "pyjs.plugins.messaging.publish:publish",
        "Publish messages",
        ("pub",),
        section=CORE,
    ),
    CommandRow("reply", "pyjs.plugins.messaging.reply:reply", "Answer requests", section=CORE),
    CommandRow(
        "request",
        "pyjs.plugins.messaging.request:request",
        "Send requests and show the replies",
        ("req",),
        section=CORE,
    ),
    # The same command as `account restore`, as `backup DIR` is `account backup DIR`.
    CommandRow(
        "restore", "pyjs.plugins.account.backup:restore", "Load all Streams from a backup", section=JETSTREAM
    ),
    CommandRow("rtt", "pyjs.plugins.messaging.rtt:rtt", "Round trip time to the server", section=ADMIN),
    CommandRow("schema", "pyjs.plugins.schema:schema", "JSON Schemas of what goes in and out", section=OTHER),
    CommandRow(
        "server",
        "pyjs.plugins.server:server",
        "Run a server; look at servers",
        ("srv", "sys", "system"),
        section=ADMIN,
    ),
    CommandRow(
        "service",
        "pyjs.plugins.service:service",
        "Find services, and ask them",
        ("micro",),
        section=CORE,
    ),
    CommandRow(
        "stream",
        "pyjs.plugins.stream:stream",
        "JetStream Stream management",
        ("str", "st", "ms", "s"),
        section=JETSTREAM,
    ),
    CommandRow(
        "subscribe", "pyjs.plugins.messaging.subscribe:subscribe", "Receive messages", ("sub",), section=CORE
    ),
    CommandRow("top", "pyjs.plugins.server.top:top", "The connections of a server, live", section=ADMIN),
    CommandRow(
        "trace",
        "pyjs.plugins.messaging.trace:trace",
        "The way of a message through servers and streams",
        section=ADMIN,
    ),
    CommandRow(
        "traffic", "pyjs.plugins.messaging.traffic:traffic", "Messages by what they are for", hidden=True
    ),
)


class Root(CommandGroup):
    """The `pyjs` command: the built-in rows, and third-party ones for names that are not built in."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(rows=ROWS, **attributes)
        self._plugins_read = False

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names. Plugins that do not load are left out; a warning says why."""
        self._read_plugins()
        for name in [name for name, row in self.rows.items() if row.origin]:
            self.get_command(ctx, name)  # drops the rows that do not load
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a built-in command or a plugin's. Plugins are searched only if nothing built in matches."""
        if cmd_name not in self.rows and cmd_name not in self.aliases:
            self._read_plugins()
        row = self.rows.get(self.aliases.get(cmd_name, cmd_name))
        if row is None or not row.origin or row.name in self.commands:
            return super().get_command(ctx, cmd_name)
        found = load(row)
        if found is None:
            del self.rows[row.name]
            return None
        self.commands[row.name] = found
        self.rows[row.name] = row._replace(summary=found.get_short_help_str(limit=80))
        return found

    def _read_plugins(self) -> None:
        if self._plugins_read:
            return
        self._plugins_read = True
        from importlib.metadata import entry_points

        for point in entry_points(group=PLUGIN_GROUP):
            if point.name in self.rows or point.name in self.aliases:
                continue  # a plugin adds commands; it cannot replace one
            origin = point.dist.name if point.dist is not None else point.value
            self.rows[point.name] = CommandRow(point.name, point.value, origin=origin, section="Plugins")
