"""The options as tables for the docs.

`python -m pyjs.pipeline.options.docs docs/pipeline.md` updates the page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from .table import CONNECTION, READ, READING, STREAM, WRITE, WRITING, Option

BEGIN, END = "<!-- options -->\n", "<!-- /options -->\n"
_USES = ((READ, "batch"), (STREAM, "stream"), (WRITE, "write"))


def tables() -> str:
    """Return the tables of all options: of the connection, of reads and of writes."""
    parts = (("To connect", CONNECTION), ("To read", READING), ("To write", WRITING))
    return "\n".join(f"### {title}\n\n{_table(options)}" for title, options in parts)


def _table(options: Iterable[Option]) -> str:
    head = "| option | for | default | meaning |\n|---|---|---|---|\n"
    return head + "".join(_row(option) for option in options)


def _row(option: Option) -> str:
    uses = [word for use, word in _USES if use in option.uses]
    accepted_in = "all" if len(uses) == len(_USES) else ", ".join(uses)
    default = f"`{option.default}`" if option.default else option.unset
    kafka = f" (Kafka: `{option.kafka}`)" if option.kafka else ""
    meaning = f"{option.meaning}{kafka}".replace("|", "\\|")
    return f"| `{option.name}` | {accepted_in} | {default} | {meaning} |\n"


def renewed(page: str) -> str:
    """Return the page with current tables between its two marks. Raises ValueError if it has no marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN.strip()} … {END.strip()}")
    return f"{before}{begin}\n{tables()}\n{end}{after}"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")
