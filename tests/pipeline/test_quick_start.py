"""The quick start of docs/pipeline.md runs as printed there, with the output that the page shows.

Its program is run in the session that the tests share; only the server's address and the folders are others.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from lib import pyjs_server
from lib.cli import Cli

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).resolve().parents[2] / "docs" / "pipeline.md"
ADDRESS = "nats://127.0.0.1:4222"


def test_it_prints_what_the_page_prints(spark: SparkSession, tmp_path: Path) -> None:
    section = PAGE.read_text("utf-8").partition("## Quick start\n")[2].partition("\n## ")[0]
    (commands,) = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    (program,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (printed,) = re.findall(r"```\n(\+-.*?)```", section, re.DOTALL)
    (looked,) = re.findall(r"```console\n(.*?)```", section, re.DOTALL)
    first, *lines = commands.splitlines()
    assert shlex.split(first) == ["pyjs", "server", "run", "-a", "127.0.0.1", "-js", "-sd", "./data", "&"]
    server = pyjs_server.start('listen: 127.0.0.1:<client>\njetstream { store_dir: "<store>" }\n')
    try:
        cli = Cli(tmp_path, f"--server={server.url}")
        for line in lines:
            cli.ok(*shlex.split(line)[1:])
        here = program.replace(ADDRESS, server.url)
        for name in ("orders.parquet", "orders.checkpoint"):
            assert f'"{name}"' in here
            here = here.replace(f'"{name}"', f'"{tmp_path / name}"')
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile(here, "orders.py", "exec"), {"__name__": "__main__"})
        assert said.getvalue() == printed
        command, *shown = looked.splitlines()
        assert untimed(cli.ok(*shlex.split(command)[2:])) == untimed("\n".join(shown))
    finally:
        server.stop()


def untimed(text: str) -> str:
    """What is shown of a message, without when it came."""
    return re.sub(r"received .* ago\)", "", text).strip()
