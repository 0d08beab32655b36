"""Lines of nsc replayed: what each prints and what it leaves in the folders, with keys and dates unified.

A recording is text: `$ line`, what it printed, then `= path mode claims` for each file that changed and `-
path` for each that was removed. Tokens read `<TOKEN>`, keys `<A0>`, `<A1>`, … in the order in which they
appear.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

KEY = re.compile(r"\b[OAUX][A-Z2-7]{55}\b")
WHEN = re.compile(r"(UTC) - .*")
TOKEN = re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+")
Run = Callable[[list[str]], tuple[int, str]]  # words -> exit code, stdout


class Replay:
    """One home directory in which lines are run, one after the other."""

    def __init__(self, home: Path, run: Run) -> None:
        self.home = home
        self.run = run
        self.names: dict[str, str] = {}
        self.files: dict[str, str] = {}

    def step(self, line: str) -> str:
        """Run a line (keys in it may be written as `<A0>`) and return its part of a recording."""
        keys = {name: key for key, name in self.names.items()}
        words = [re.sub(r"<[OAUX]\d+>", lambda found: keys[found[0]], word) for word in line.split()]
        code, printed = self.run(words)
        lines = [f"$ {line}", *WHEN.sub(r"\1 - <WHEN>", self._alike(printed)).rstrip("\n").split("\n")]
        if code:
            lines.append(f"exit {code}")
        now = self._state()
        lines += [f"= {path} {now[path]}" for path in sorted(now) if self.files.get(path) != now[path]]
        lines += [f"- {path}" for path in sorted(self.files) if path not in now]
        self.files = now
        return "\n".join(line for line in lines if line) + "\n"

    def _state(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in sorted(self.home.rglob("*")):
            if not path.is_file() or path.name == ".gitignore":
                continue
            name, mode = path.relative_to(self.home).as_posix(), oct(path.stat().st_mode & 0o777)
            text = path.read_text()
            if path.suffix == ".jwt":
                found[name] = f"{mode} {self._claims(text)}"
            elif path.suffix == ".creds":
                found[name] = f"{mode} {self._claims(text.splitlines()[1])}"
            elif path.suffix == ".nk":
                known = self.names.get(path.stem)
                if known is not None:  # others were made in vain: nsc stores keys before it checks names
                    found[f"seed of {known}"] = mode
            elif path.name == "nsc.json":
                settings = {**json.loads(text), "last_update": 0}
                found[name] = f"{mode} {self._alike(json.dumps(settings))}"
            else:
                found[name] = f"{mode} {text}"
        return found

    def _claims(self, token: str) -> str:
        part = token.split(".")[1]
        claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        for name in ("jti", "iat"):
            claims.pop(name)
        for key in claims["nats"].get("revocations", {}):
            claims["nats"]["revocations"][key] = "<TIME>"
        return self._alike(json.dumps(claims))

    def _alike(self, text: str) -> str:
        return KEY.sub(self._named, TOKEN.sub("<TOKEN>", text.replace(str(self.home), "~")))

    def _named(self, found: re.Match[str]) -> str:
        key = found[0]
        count = sum(name[1] == key[0] for name in self.names.values())
        return self.names.setdefault(key, f"<{key[0]}{count}>")
