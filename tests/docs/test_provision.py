"""The session of docs/provision.md, played on both servers; and its Action, as GitHub would run it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from lib.cli import Cli
from lib.jetstream import ALONE
from lib.process import ServerProcess
from lib.source_facts import ROOT

PAGE = (ROOT / "docs/provision.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples/provision"
CODES = {"plan": {0, 5}}


def session() -> list[tuple[str, list[str]]]:
    """(command line, its output) for each command of the page that shows one."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"(?m)(?:^(?: {4}.*)?\n)+", PAGE):
        lines = [line.removeprefix("    ") for line in block.strip("\n").splitlines()]
        if not lines or not lines[0].startswith("$ "):
            continue
        for line in lines:
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def test_the_session_runs_as_printed(launch: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    document = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert document is not None
    (tmp_path / "orders.yaml").write_text(document[1], encoding="utf-8")
    cli = Cli(tmp_path, "--server", launch(ALONE).url)
    steps = session()
    assert len(steps) == 5
    for command, expected in steps:
        words = shlex.split(command.removesuffix(" > /dev/null"))[1:]
        result = cli.run(*words)
        assert result.code in CODES.get(words[0], {0}), result.err
        if words[0] == "plan":
            assert result.code == (0 if expected[-1].endswith("6 as declared.") else 5)
        if not command.endswith("/dev/null"):
            assert result.out.rstrip("\n").splitlines() == expected, command


def lines_of(job: str) -> list[str]:
    """The command lines of a job of the Action, without the installation."""
    jobs = yaml.safe_load((EXAMPLE / "github-action.yml").read_text(encoding="utf-8"))["jobs"]
    return [
        step["run"] for step in jobs[job]["steps"] if "pyjs plan" in str(step) or "pyjs apply" in str(step)
    ]


@pytest.mark.parametrize("implementation", ["reference"], indirect=True)
def test_the_action_plans_applies_and_finds_drift(
    launch: Callable[[str], ServerProcess], tmp_path: Path
) -> None:
    shutil.copytree(EXAMPLE / "jetstream", tmp_path / "jetstream")
    server = launch(ALONE.replace(", max_mem: 100MB, max_file: 100MB", ""))
    cli = Cli(tmp_path, "--server", server.url)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/pyjs").write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'from pyjs.cli.entry import main; main()' \"$@\"\n"
    )
    (tmp_path / "bin/pyjs").chmod(0o755)
    summary = tmp_path / "summary.md"

    def run(job: str) -> int:
        (script,) = lines_of(job)
        environment = cli.environment(
            {
                "NATS_URL": server.url,
                "GITHUB_STEP_SUMMARY": str(summary),
                "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            }
        )
        return subprocess.run(
            ["bash", "-e", "-c", script], cwd=tmp_path, env=environment, check=False
        ).returncode

    assert run("plan") == 0
    assert "5 to create" in summary.read_text()
    assert run("drift") == 5
    assert run("apply") == 0
    assert run("drift") == 0
    cli.ok("stream", "edit", "ORDERS", "--max-age=2h", "--force")
    assert run("drift") == 5
