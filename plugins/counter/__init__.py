"""`pyjs counter`: the counters of a stream. The commands are rows; each is imported when it is called."""

from __future__ import annotations

from ...cli.command import CommandGroup, table_rows

_ROWS = (
    ("decrement", "change:decrement", "Subtract from a counter", ("decr", "dec", "d")),
    ("get", "show:get", "Show the value of a counter", ("g",)),
    ("increment", "change:increment", "Add to a counter", ("incr", "inc", "i")),
    ("list", "show:list_counters", "List the counters of a Stream", ("l", "ls")),
    ("view", "show:view", "Show a counter with what its sources added", ("v",)),
)

counter = CommandGroup(
    name="counter",
    help="Counters on JetStream: each subject of a Stream that allows counters is one.",
    rows=table_rows("pyjs.plugins.counter", _ROWS),
)
