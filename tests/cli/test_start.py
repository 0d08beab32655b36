"""What the common commands load: each module takes processor time whenever the command is run."""

from __future__ import annotations

import subprocess
import sys

from lib.cli import Cli
from lib.process import ServerProcess

SETUP = (
    ("stream", "add", "ORDERS", "--subjects", "orders.>", "--defaults"),
    ("consumer", "add", "ORDERS", "NEW", "--pull", "--defaults"),
    ("kv", "add", "CONFIG"),
)
COMMON = (
    ("pub", "greet", "hello"),
    ("pub", "--jetstream", "orders.1", "hello"),
    ("request", "nobody.listens", "hello"),
    ("stream", "ls"),
    ("stream", "info", "ORDERS"),
    ("stream", "info", "ORDERS", "--json"),
    ("consumer", "ls", "ORDERS"),
    ("consumer", "info", "ORDERS", "NEW"),
    ("kv", "put", "CONFIG", "key", "value"),
    ("kv", "get", "CONFIG", "key"),
    ("kv", "ls"),
    ("server", "check", "connection"),
)
HEAVY = {
    *("asyncio", "ssl", "logging", "email", "importlib.metadata", "encodings.idna", "shutil", "subprocess"),
    *("nats", "nkeys", "nacl", "jwt", "pydantic", "rich", "questionary", "prompt_toolkit", "yaml", "numpy"),
    *("pyjs.server", "pyjs.pipeline", "pyjs.store", "pyjs.protocol.api.stream", "pyjs.keys.nkey"),
}


def test_common_commands_load_no_event_loop_and_no_library(cli: Cli, guarded: ServerProcess) -> None:
    url = f"nats://ada:s3cret@127.0.0.1:{guarded.port}"
    for words in SETUP:
        cli.ok("-s", url, *words)
    lines = [["-s", url, *words] for words in COMMON]
    script = (
        "import sys\nfrom pyjs.cli.entry import run\n"
        f"codes = [run(line) for line in {lines!r}]\n"
        "print(*codes)\nprint(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=cli.environment()
    )
    *_, codes, modules = done.stdout.splitlines()
    assert codes.split() == ["0"] * len(COMMON), done.stderr
    assert sorted(HEAVY & {*modules.split()}) == []


def test_aiohttp_is_not_loaded_for_other_urls_than_ws(cli: Cli, guarded: ServerProcess) -> None:
    """It is nats-py that loads it, and it takes half of the processor time of such a command."""
    url = f"nats://ada:s3cret@127.0.0.1:{guarded.port}"
    script = (
        "import sys\nfrom pyjs.cli.entry import run\n"
        f"print(run(['-s', {url!r}, 'account', 'info']))\n"
        "print('nats' in sys.modules, 'aiohttp.client' in sys.modules)\n"
        "import aiohttp.web\nprint(aiohttp.web.Application, aiohttp.ClientSession)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=cli.environment()
    )
    *_, code, loaded, used = done.stdout.splitlines()
    assert (code, loaded) == ("0", "True False"), done.stderr
    assert "aiohttp.web_app.Application" in used  # who imports it gets all of it


def test_a_command_that_needs_an_event_loop_after_all_is_started_again(
    cli: Cli, guarded: ServerProcess
) -> None:
    url = f"nats://ada:s3cret@127.0.0.1:{guarded.port}"
    cli.ok("-s", url, "kv", "add", "CONFIG")
    cli.ok("-s", url, "kv", "put", "CONFIG", "colour", "red")
    unknown = cli.run("-s", url, "kv", "get", "CONFIG", "color")
    assert unknown.code == 3
    assert "did you mean colour?" in unknown.err  # found by a subscription
    assert unknown.err.count("key not found") == 1
    assert "colour" in cli.ok("-s", url, "kv", "ls", "CONFIG")
