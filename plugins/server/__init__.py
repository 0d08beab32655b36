"""`pyjs server`: runs a server, checks its configuration, and shows the servers of the connection."""

from __future__ import annotations

from ...cli.command import CommandGroup, table_rows

_ROWS = (
    ("account", "account:account", "Accounts, as the servers see them", ("acct",)),
    ("check", "check:check", "Is something well? For monitoring systems", ()),
    ("check-config", "run:check_config", "Check a configuration file", ()),
    ("cluster", "meta:cluster", "The meta group of a cluster with JetStream", ("r", "raft")),
    ("config", "reload:config", "A running server's configuration", ()),
    ("consumer-check", "replica_check:consumer_check", "Compare the replicas of Consumers", ()),
    ("generate", "generate:generate", "Write the configuration of servers, by questions", ("gen",)),
    ("graph", "graph:server_graph", "How busy a server is, as plots", ()),
    ("info", "info:info", "All about one server", ("i",)),
    ("list", "listing:ls", "List the servers", ("ls",)),
    ("mappings", "mappings:mappings", "Try subject mappings", ("mapping",)),
    (
        "passwd",
        "passwd:passwd",
        "Hash a password for a server's configuration",
        ("mkpasswd", "pass", "password"),
    ),
    ("ping", "ping:ping", "How long each server takes to answer", ()),
    ("report", "report:report", "Reports on all servers", ("rep",)),
    ("request", "request:request", "What servers say of themselves, as JSON", ("req",)),
    ("run", "run:run", "Run a server in the foreground, with nats-server's flags", ()),
    ("stream-check", "replica_check:stream_check", "Compare the replicas of Streams", ()),
    ("topology", "topology:topology", "Servers, domains, leafs and Streams as a picture", ()),
    ("watch", "watch:watch", "What servers and accounts do, live", ()),
)

server = CommandGroup(
    name="server", help="Run a server; look at servers.", rows=table_rows("pyjs.plugins.server", _ROWS)
)
