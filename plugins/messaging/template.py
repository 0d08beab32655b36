"""Templates in bodies, headers and subjects: `{{Count}}`, `{{Time}}`, `{{ID}}`, `{{Random 10 100}}`, …

The functions are those of `nats pub --help`. Promises: text without `{{` is returned as it is; an unknown
function or wrong arguments are an error that names it. Time and randomness are arguments.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ...cli.errors import UsageError, close_matches

CALL = re.compile(r"\{\{\s*\.?(\w+)\s*([^{}]*?)\s*\}\}")
LETTERS = string.ascii_letters + string.digits


@dataclass
class Filler:
    """Fills templates.

    clock: returns the time.
    random_source: the source of randomness.
    """

    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    random_source: random.Random = field(default_factory=random.Random)

    def fill(self, text: str, count: int, request: str = "") -> str:
        """Return `text` with its calls replaced. Raises CliError.

        count: the number of the message.
        request: the request, for templates of a reply.
        """
        if "{{" not in text:
            return text
        return CALL.sub(lambda found: self._call(found[1], found[2].split(), count, request), text)

    def _call(self, name: str, arguments: list[str], count: int, request: str) -> str:
        now = self.clock()
        values: dict[str, Callable[[], str]] = {
            "Count": lambda: str(count),
            "Cnt": lambda: str(count),
            "TimeStamp": lambda: now.astimezone().isoformat(timespec="seconds").replace("+00:00", "Z"),
            "Unix": lambda: str(int(now.timestamp())),
            "UnixNano": lambda: str(int(now.timestamp() * 1e6) * 1000),
            "Time": lambda: f"{now.astimezone():%I:%M%p}".lstrip("0"),
            "ID": lambda: "".join(self.random_source.choices(LETTERS, k=22)),
            "Request": lambda: request,
        }
        if name == "Random":
            return self._random(arguments)
        if name not in values or arguments:
            hint = close_matches(name, [*values, "Random"])
            raise UsageError(f"no template function {{{{{' '.join([name, *arguments])}}}}}", hint)
        return values[name]()

    def _random(self, arguments: list[str]) -> str:
        if len(arguments) != 2 or not all(text.isdecimal() for text in arguments):
            raise UsageError("{{Random}} needs two lengths", "for instance {{Random 10 100}}")
        shortest, longest = sorted(int(text) for text in arguments)
        return "".join(self.random_source.choices(LETTERS, k=self.random_source.randint(shortest, longest)))
