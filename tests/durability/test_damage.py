"""Every kind of file, damaged in every way, after a clean stop and after kill -9: nothing wrong is served.

What was confirmed stays confirmed, no sequence is used twice, and what is missing is reported: in the log, in
healthz and by the API. `docs/trust.md` has the tables; see `lib.damage`.
"""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest
from lib import stream_cluster
from lib.damage import server as damage_server
from lib.damage.harm import OLDER
from lib.damage.old_store import old_store
from lib.damage.pages import replica_table, server_table
from lib.damage.replica import Play
from lib.damage.server import Findings, after, build, judge, play, swapped
from lib.sealed_disk import SealedFakeDisk

# What is exchanged between the streams ONE and W.
FOLDERS = ["", "msgs/", "consumers/C/"]
PAGE = Path(__file__).parents[2] / "docs/trust.md"


def test_one_damaged_file_of_a_server() -> None:
    played = list(play())
    assert len(played) > 250
    assert [findings for case, findings in played if not case.path] == [Findings(), Findings()]
    broken = [(case, findings) for case, findings in played if findings.broken]
    assert broken == []
    untold = [case for case, findings in played if case.path and not findings.lines]
    assert [case for case in untold if not case.may_be_quiet] == []
    made = server_table(played)
    assert made in PAGE.read_text("utf-8"), made


def test_one_damaged_file_of_a_server_that_encrypts() -> None:
    """Nothing is lost or hidden that would not be in the clear.

    What is torn of an erased message is nobody's.
    """
    with mock.patch.object(damage_server, "above", damage_server.encrypted):
        played = list(play(every=5))
    assert len(played) > 70
    assert [findings for case, findings in played if not case.path] == [Findings(), Findings()]
    assert [(case, findings) for case, findings in played if findings.broken] == []
    untold = [case for case, findings in played if case.path and not findings.lines and not case.may_be_quiet]
    assert [case for case in untold if (case.path[-4:], case.harm) != (".blk", "the last byte cut")] == []


def test_one_damaged_file_of_a_replica_that_encrypts() -> None:
    with mock.patch.object(stream_cluster, "FakeDisk", SealedFakeDisk):
        playing = Play()
        playing.server.disk._warn = playing.server.log.warning  # type: ignore[attr-defined]
        cases = list(playing.cases("kill"))
    assert len(cases) > 60
    quiet = {("replica: manifest", OLDER), ("replica: <block>.blk", "the last byte cut")}
    assert [one for one in cases if one[2] or not (one[3] or one[:2] in quiet)] == []


def test_one_damaged_file_of_a_replica() -> None:
    played = list(Play.all_cases())
    assert len(played) > 120
    quiet = ("replica: manifest", OLDER)  # as a power cut leaves it: what it says is true
    assert [one for one in played if one[2] or not (one[3] or one[:2] == quiet)] == []
    made = replica_table(played)
    assert made in PAGE.read_text("utf-8"), made


def test_a_replica_with_the_messages_of_another_one_is_filled_from_the_others_and_says_so() -> None:
    found, lines, kept = Play().exchanged_folder()
    assert found
    assert any("belongs to another stream" in line for line in lines)
    assert any("is filled from the other servers" in line for line in lines)
    assert kept


@pytest.mark.parametrize("exchanged", FOLDERS)
def test_a_folder_of_another_stream_is_not_served_and_not_touched(exchanged: str) -> None:
    killed, stopped, _, promised = build()
    for files in (killed, stopped):
        findings = judge(swapped(files, exchanged), promised)
        assert findings.lost == 0
        assert findings.broken and all("is not served" in one or "healthz" in one for one in findings.broken)
        assert [line for line in findings.lines if "is offline" in line and "belongs to" in line]
        left = after(swapped(files, exchanged))
        findings = judge(swapped(left, exchanged), promised)
        assert (findings.broken, findings.lost) == ([], 0)


def test_a_store_of_the_version_before_opens_without_loss() -> None:
    files, promised = old_store()
    for left in (files, {path: data for path, data in files.items() if not path.endswith(".idx")}):
        findings = judge(left, promised)
        assert (findings.broken, findings.lost) == ([], 0)


def test_what_a_store_of_the_version_before_knows_is_still_reported() -> None:
    """Its last block is cut: its sidecar and its consumers know what was in it."""
    files, promised = old_store()
    block = "/d/jetstream/$G/streams/ONE/msgs/0000000001-0.blk"
    findings = judge({**files, block: files[block][: len(files[block]) // 2]}, promised)
    assert (findings.broken, findings.lost > 0) == ([], True)
