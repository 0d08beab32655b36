"""Every command, alias and flag of `nats` exists in `pyjs`, or stands below with the reason.

`nats_commands.txt` has those of `nats`. It holds names only: what they do, the tests of each family show.
"""

from __future__ import annotations

from pathlib import Path

from lib import command_list
from lib.command_list import Flag
from pyjs.cli import flags
from pyjs.cli.entry import root

FISK = "an option of fisk, the library that nats is made with; 'pyjs help' and 'pyjs completion' do this"
WINDOWS = "nats has it on Windows only"
TWICE = "'imports' has this alias, too, and gets it from nats as well"

# What pyjs does not have, as `missing` says it, with the reason. A row must be true.
EXCEPTIONS = {
    "--help-long": FISK,
    "--help-compact": FISK,
    "--help-man": FISK,
    "--help-llm": FISK,
    "--completion-bash": FISK,
    "--completion-script-bash": FISK,
    "--completion-script-zsh": FISK,
    "--completion-zsh-menu": FISK,
    "--fisk-introspect": FISK,
    "--certstore": WINDOWS,
    "--certstore-match": WINDOWS,
    "--certstore-match-by": WINDOWS,
    "--certstore-ca-match": WINDOWS,
    "auth account info (i)": TWICE,
}


LINES = tuple(command_list.read(Path(__file__).parent / "nats_commands.txt"))


def test_each_command_alias_and_flag_exists() -> None:
    everywhere = {f"--{flag.name}": flag.kind != flags.SWITCH for flag in flags.FLAGS}
    lacking = set(command_list.missing(root, LINES, everywhere))
    assert sorted(name for name in lacking if name not in EXCEPTIONS) == []
    assert sorted(set(EXCEPTIONS) - lacking) == [], "these exist by now"


def test_the_list_is_read_whole() -> None:
    read = {line.path: line for line in LINES}
    assert len(read) == 276
    assert read["stream graph"].path
    assert Flag(("--force", "-f"), takes_value=False) in read["stream rm"].flags
    assert read["account backup"].aliases == ("snapshot",)
    assert Flag(("--consumers", "--no-consumers"), takes_value=False) in read["account backup"].flags
