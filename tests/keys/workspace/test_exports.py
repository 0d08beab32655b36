"""Exports: added, edited without losing anything, deleted; a refused change changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lib.nsc_folders import NscFolders
from pyjs.keys import Export, IdentityError
from pyjs.keys.claims import ServiceLatency
from pyjs.keys.workspace.exports import (
    ExportChanges,
    add_export,
    add_exports,
    delete_export,
    edit_export,
    read_sampling,
)


@pytest.fixture
def folders(tmp_path: Path) -> NscFolders:
    return NscFolders(tmp_path / "nsc", "TEST", "OTHER")


def _add(folders: NscFolders, **fields: Any) -> str:
    done = add_export(folders.workspace(), Export(**fields), account="TEST")
    return str(done.report.render())


def _full(folders: NscFolders) -> Export:
    """A service export in which everything is set."""
    export = Export(
        name="full",
        subject="svc.*.run",
        type="service",
        response_type="Stream",
        response_threshold=5_000_000_000,
        service_latency=ServiceLatency(sampling=20, results="lat.x"),
        account_token_position=2,
        advertise=True,
        allow_trace=True,
        description="all of it",
        info_url="https://example.com",
        revocations={folders.key("OTHER"): 7},
    )
    claims = folders.claims("TEST")
    claims.nats.exports.append(export)
    folders.change(claims)
    return export


def test_exports_are_public_streams_unless_told_otherwise(folders: NscFolders) -> None:
    assert _add(folders, subject="a.>") == '[ OK ] added public stream export "a.>"'
    assert (
        _add(folders, subject="b", type="service", token_req=True, name="B")
        == '[ OK ] added private service export "B"'
    )
    stream, service = folders.claims("TEST").nats.exports
    assert stream.document() == {"name": "a.>", "subject": "a.>", "type": "stream"}
    assert service.response_type == "Singleton"


def test_the_callers_export_is_left_alone(folders: NscFolders) -> None:
    mine = Export(subject="a")
    add_export(folders.workspace(), mine, account="TEST")
    assert (mine.name, mine.type) == ("", "")


def test_a_stream_and_a_service_may_overlap(folders: NscFolders) -> None:
    _add(folders, subject="a.>")
    assert "added" in _add(folders, subject="a.b", type="service")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"subject": ""}, "a subject is required"),
        ({"subject": "a b"}, 'subject "a b" cannot have spaces'),
        ({"subject": "a..b"}, "consecutive"),
        ({"subject": "held..x"}, "consecutive"),
        ({"subject": "held.x"}, 'stream export subject "held.*" already exports "held.x"'),
        ({"subject": "held.>"}, "already exports"),
        ({"subject": "held.*"}, "already exports"),
        (
            {"subject": "s", "type": "service", "response_type": "Many"},
            'unknown response type "Many": it is one of Singleton, Stream, Chunked',
        ),
        ({"subject": "s", "response_type": "Stream"}, "invalid response type for stream"),
        ({"subject": "s", "allow_trace": True}, "AllowTrace only valid for service export"),
        ({"subject": "s", "response_threshold": 5}, "response threshold only valid for services"),
        (
            {"subject": "s.*", "token_req": True, "account_token_position": 2},
            "account token position is only valid for public exports",
        ),
        ({"subject": "s.*", "account_token_position": 1}, "but must match a * in: s.*"),
        ({"subject": "s.*", "account_token_position": 9}, "exceeds length of subject"),
        ({"subject": "s", "account_token_position": 1}, "only be used with wildcard subjects"),
        (
            {"subject": "s", "type": "service", "service_latency": ServiceLatency(sampling=1, results="l.*")},
            "results subject can not contain wildcards",
        ),
        ({"subject": "s", "info_url": "nowhere"}, "info url"),
        ({"subject": "s", "description": "d" * 9000}, "Description is too long"),
    ],
)
def test_what_is_no_export_changes_nothing(folders: NscFolders, fields: dict[str, Any], error: str) -> None:
    _add(folders, subject="held.*")
    before = folders.content()
    with pytest.raises(IdentityError) as raised:
        _add(folders, **fields)
    assert error in str(raised.value)
    assert folders.content() == before


def test_an_account_must_be_one(folders: NscFolders) -> None:
    before = folders.content()
    with pytest.raises(IdentityError, match="NOBODY"):
        add_export(folders.workspace(), Export(subject="a"), account="NOBODY")
    with pytest.raises(IdentityError, match="an account is required"):
        add_export(folders.workspace(), Export(subject="a"))
    assert folders.content() == before


def test_old_errors_do_not_stop_a_change_but_new_ones_do(folders: NscFolders) -> None:
    claims = folders.claims("TEST")
    claims.nats.exports += [Export(subject="a.>", type="stream"), Export(subject="a.b", type="stream")]
    folders.change(claims)
    assert "added" in _add(folders, subject="c")
    with pytest.raises(IdentityError, match=r"a\.c"):
        _add(folders, subject="a.c")


def test_an_edit_keeps_what_it_does_not_name(folders: NscFolders) -> None:
    before = _full(folders)
    done = edit_export(folders.workspace(), ExportChanges(name="new"), account="TEST")
    assert done.report.render() == '[ OK ] changed export name to new\n[ OK ] edited service export "new"'
    (after,) = folders.claims("TEST").nats.exports
    assert after.document() == {**before.document(), "name": "new"}


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({"description": "d"}, ['changed description to "d"']),
        ({"info_url": "http://x.y"}, ['changed info url to "http://x.y"']),
        ({"allow_trace": False}, ["changed allowed trace to false"]),
        ({"response_type": "Chunked"}, ["changed response type to Chunked"]),
        ({"sampling": 50}, ["changed service latency to 50%"]),
        ({"sampling": 0}, ["changed service latency to header"]),
        (
            {"latency": "lat.y"},
            ["changed service latency subject to lat.y", "changed latency subject will break"],
        ),
        ({"untrack": True}, ["removed latency tracking"]),
        ({"response_threshold": 1}, []),
        ({"subject": "other.*.run"}, ['changed subject to "other.*.run" - this will break importers']),
        (
            {"account_token_position": 0, "private": True},
            ["changed export to be private - this will break importers"],
        ),
    ],
)
def test_each_change_is_reported(folders: NscFolders, changes: dict[str, Any], lines: list[str]) -> None:
    _full(folders)
    done = edit_export(folders.workspace(), ExportChanges(**changes), account="TEST")
    reported = [child.text for child in done.report.children]
    assert len(reported) == len(lines) + 1
    assert all(text.startswith(line) for line, text in zip(lines, reported, strict=False))
    (after,) = folders.claims("TEST").nats.exports
    assert after.document() == done.export.document()


def test_made_public_is_reported_as_that(folders: NscFolders) -> None:
    _add(folders, subject="a", token_req=True)
    done = edit_export(folders.workspace(), ExportChanges(private=False), account="TEST")
    assert done.report.children[0].text == "changed export to be public"


def test_a_service_that_becomes_a_stream_loses_what_only_services_have(folders: NscFolders) -> None:
    _full(folders)
    done = edit_export(folders.workspace(), ExportChanges(kind="stream"), account="TEST")
    assert done.export.type == "stream"
    assert not (done.export.response_type or done.export.service_latency or done.export.allow_trace)
    again = edit_export(folders.workspace(), ExportChanges(kind="service"), account="TEST")
    assert again.export.response_type == "Singleton"


@pytest.mark.parametrize(
    ("subject", "changes", "error"),
    [
        ("a", {}, "please specify some options"),
        ("nope", {"name": "x"}, 'no export with subject "nope" found'),
        ("", {"name": "x"}, "a subject is required"),
        ("a", {"response_threshold": 5}, "response threshold is only applicable to services"),
        ("a", {"allow_trace": True}, "allow trace is only applicable to services"),
        ("a", {"sampling": 5}, "latency tracking is only applicable to services"),
        ("s", {"sampling": 5}, "latency sampling needs a subject"),
        ("s", {"response_type": "Some"}, "unknown response type"),
        ("s", {"info_url": "x"}, "info url"),
        ("a", {"subject": "b.c"}, "already exports"),
        ("a", {"account_token_position": 1, "private": True}, "only valid for public exports"),
    ],
)
def test_a_refused_edit_changes_nothing(
    folders: NscFolders, subject: str, changes: dict[str, Any], error: str
) -> None:
    _add(folders, subject="a")
    _add(folders, subject="b.>")
    _add(folders, subject="s", type="service")
    before = folders.content()
    with pytest.raises(IdentityError, match=error):
        edit_export(folders.workspace(), ExportChanges(**changes), subject=subject, account="TEST")
    assert folders.content() == before


def test_the_kind_chooses_where_both_have_the_subject(folders: NscFolders) -> None:
    _add(folders, subject="a")
    _add(folders, subject="a", type="service")
    with pytest.raises(IdentityError, match="say which one is meant"):
        edit_export(folders.workspace(), ExportChanges(name="x"), subject="a", account="TEST")
    done = edit_export(
        folders.workspace(), ExportChanges(name="x", kind="service"), subject="a", account="TEST"
    )
    assert done.export.type == "service"
    with pytest.raises(IdentityError, match="say which one is meant"):
        delete_export(folders.workspace(), subject="a", account="TEST")
    delete_export(folders.workspace(), subject="a", kind="stream", account="TEST")
    assert [e.type for e in folders.claims("TEST").nats.exports] == ["service"]


def test_a_sole_export_needs_no_subject_to_be_deleted(folders: NscFolders) -> None:
    _add(folders, subject="a")
    done = delete_export(folders.workspace(), account="TEST")
    assert done.report.render() == '[ OK ] deleted stream export "a"'
    assert folders.claims("TEST").nats.exports == []
    with pytest.raises(IdentityError, match="doesn't have exports"):
        delete_export(folders.workspace(), account="TEST")


@pytest.mark.parametrize("text", ["header", "Headers", "1", "100"])
def test_sampling_rates(text: str) -> None:
    assert read_sampling(text) == (0 if text.lower().startswith("h") else int(text))


@pytest.mark.parametrize("text", ["", "0", "101", "-1", "ten", "1.5"])
def test_what_is_no_sampling_rate(text: str) -> None:
    with pytest.raises(IdentityError, match="between 1 and 100"):
        read_sampling(text)


def test_several_exports_are_added_together_or_not_at_all(folders: NscFolders) -> None:
    before = folders.content()
    with pytest.raises(IdentityError, match="already exports"):
        add_exports(folders.workspace(), [Export(subject="x.>"), Export(subject="x.y")], account="TEST")
    assert folders.content() == before
    added = add_exports(
        folders.workspace(), [Export(subject="x.>"), Export(subject="y", type="service")], account="TEST"
    )
    assert [result.export.name for result in added] == ["x.>", "y"]
    assert [export.type for export in folders.claims(added[0].account).nats.exports] == ["stream", "service"]
