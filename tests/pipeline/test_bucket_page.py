"""docs/bucket.md runs as printed there, with the output that the page shows.

Its programs are run in the session that the tests share; only the server's address and folders are others.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lib import pyjs_server
from lib.cli import Cli

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "bucket.md").read_text("utf-8")
ADDRESS = "nats://127.0.0.1:4222"


def test_it_prints_what_the_page_prints(spark: SparkSession, tmp_path: Path) -> None:
    (commands,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    programs = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    printed = re.findall(r"```\n(\+-.*?)```", PAGE, re.DOTALL)
    assert len(programs) == len(printed) == 2
    server = pyjs_server.start('listen: 127.0.0.1:<client>\njetstream { store_dir: "<store>" }\n')
    try:
        cli = Cli(tmp_path, f"--server={server.url}")
        for line in commands.splitlines()[1:]:
            cli.ok(*shlex.split(line)[1:])
        names: dict[str, Any] = {"__name__": "__main__"}
        for program, wanted in zip(programs, printed, strict=True):
            here = program.replace(ADDRESS, server.url).replace('"changes.', f'"{tmp_path}/changes.')
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(compile(here, "prices.py", "exec"), names)
            assert said.getvalue().strip() == wanted.strip()
    finally:
        server.stop()
