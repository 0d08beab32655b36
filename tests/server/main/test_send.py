"""Which command lines are those of a running server (`--signal`)."""

from __future__ import annotations

import pytest
from pyjs.server.process.send import is_server


@pytest.mark.parametrize(
    "command",
    [
        "/x/bin/python /x/bin/pyjs-server -c a.conf",
        "/x/bin/pyjs-server",
        "python -m pyjs.server.main -p 1",
        "python /x/pyjs/server/main.py",
        "/x/python /x/bin/pyjs server run -js",
    ],
)
def test_a_server(command: str) -> None:
    assert is_server(command.split())


@pytest.mark.parametrize(
    "command",
    [
        "/x/bin/python /x/bin/pyjs-server --signal reload",
        "/x/bin/pyjs-server -sl=stop",
        "/x/bin/python /x/bin/pyjs stream ls",
        "vim pyjs-server.txt",
        "python -m pytest tests/server",
        "/x/python /x/bin/pyjs server list",
    ],
)
def test_no_server(command: str) -> None:
    assert not is_server(command.split())
