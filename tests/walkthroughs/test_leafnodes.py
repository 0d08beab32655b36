"""The leaf-node documentation runs as it is printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lib import transcript

if TYPE_CHECKING:
    from conftest import Pair

HERE = Path(__file__).parent


@pytest.mark.timeout(180)
def test_every_command_of_the_page_prints_what_the_page_prints(pair: Pair) -> None:
    for step in transcript.read(HERE / "leafnodes-one-account.txt", pair.replaced):
        transcript.play(pair.cli, step)
    pair.share_across_accounts()
    for step in transcript.read(HERE / "leafnodes-across-accounts.txt", pair.replaced):
        transcript.play(pair.cli, step)
