"""Reports: drawn as nsc draws them, and counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyjs.keys import Grade, OperationReport
from pyjs.keys.workspace.report import Show, place


def test_a_tree_is_drawn_with_the_worst_grade_of_each_branch() -> None:
    top = OperationReport()
    top.ok("first")
    branch = OperationReport("branch")
    branch.ok("well")
    branch.warn("not so well")
    branch.server("says\nmuch")
    top.add(branch)
    assert top.render().splitlines() == [
        "[ OK ] first",
        "[WARN] branch:",
        "       [ OK ] well",
        "       [WARN] not so well",
        "       > says",
        "       > much",
    ]
    assert top.grade is Grade.WARN


def test_what_went_well_can_be_folded_up() -> None:
    report = OperationReport("push", show=Show.WHEN_BAD)
    report.ok("pushed")
    assert report.render() == "[ OK ] push"
    report.error("or not")
    assert report.render().splitlines() == ["[ERR ] push:", "       [ OK ] pushed", "       [ERR ] or not"]


def test_empty_reports_are_not_drawn() -> None:
    top = OperationReport()
    top.add(OperationReport(), OperationReport("label"))
    assert (top.render(), top.failed, OperationReport().empty) == ("", False, True)


@pytest.mark.parametrize(
    ("grades", "asked", "expected"),
    [
        ("o", True, ""),
        ("oo", True, "all jobs succeeded"),
        ("oo", False, ""),
        ("w", True, ""),
        ("ww", True, "all jobs had warnings"),
        ("oow", True, "2 jobs succeeded - 1 have warnings"),
        ("e", False, "all jobs failed"),
        ("oe", False, "1 job failed - 1 job succeeded and 0 had warnings"),
        ("ooeew", False, "2 jobs failed - 2 jobs succeeded and 1 had warnings"),
    ],
)
def test_the_children_are_counted(grades: str, asked: bool, expected: str) -> None:
    report = OperationReport(summary=asked)
    for grade in grades:
        {"o": report.ok, "w": report.warn, "e": report.error}[grade]("x")
    assert report.summed_up() == expected


def test_as_a_document() -> None:
    report = OperationReport()
    report.ok("a").server("b")
    assert report.document() == {
        "level": "ok",
        "children": [{"level": "ok", "text": "a", "children": [{"level": "ok", "server": "b"}]}],
    }


def test_paths_are_shown_from_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/some/place")
    assert place(Path("/some/place/a/b")) == "`~/a/b`"
    assert place("/other") == "`/other`"
