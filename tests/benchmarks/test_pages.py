"""The pages that the benchmark writes: their sections, rows and pictures."""

from xml.etree import ElementTree

import pytest
from pyjs.benchmarks import comparison, pages, plot, rows, sweeps
from pyjs.benchmarks.mixed.meter import Measured
from pyjs.benchmarks.turns import Case, Row

_SVG = "{http://www.w3.org/2000/svg}"


def _row(case: Case, *, others: float = 0.0, cut: bool = False) -> Row:
    return Row(case, Measured(2000, 1.5, 10, 20), Measured(1000, 3, cut=cut), others)


def test_a_section_takes_the_place_of_that_with_its_title(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n## One\n\nold\n\n## Two\n\nkept\n")
    pages.renew(page, ["", "## One", "", "new"])
    assert page.read_text() == "# Page\n\n## One\n\nnew\n\n## Two\n\nkept\n"
    pages.renew(page, ["", "## Three", "", "more"])
    assert page.read_text().endswith("kept\n\n## Three\n\nmore\n")


def test_each_row_has_a_title_of_its_own():
    assert len({case.title for case in rows.MIXED}) == len(rows.MIXED)
    assert len({(case.title, case.options["size"]) for case in rows.REPEATED}) == len(rows.REPEATED)


def test_a_row_says_what_was_measured():
    line = comparison.mixed_line(_row(Case("work", "core", {"count": 1})))
    assert line == "| work | 2,000 | 1,000 | 2.00 | 1.50 | 3.00 | 10.0 / 20.0 |  |"


def test_a_busy_machine_and_a_cut_are_told():
    busy = _row(Case("work", "core", {"count": 1}), others=0.5, cut=True)
    assert comparison.mixed_line(busy).startswith("| work * (reference: stopped when the time was over) |")
    assert "**The machine was not quiet: others took up to 50%" in pages.quiet([busy])
    assert "was quiet" in pages.quiet([_row(Case("work", "core", {"count": 1}))])


def test_the_first_page_has_rows_of_mixed_traffic_only():
    text = "\n".join(comparison.readme_section([_row(case) for case in rows.MIXED]))
    assert all((f"| {case.title} |" in text) == case.lead for case in rows.MIXED)


@pytest.mark.parametrize("sweep", sweeps.SWEEPS, ids=lambda sweep: sweep.key)
def test_a_picture_has_a_point_of_each_server_for_each_value(sweep):
    found = [_row(sweep.case(value)) for value in sweep.values]
    svg = ElementTree.fromstring(sweeps.picture(sweep, found))
    circles, squares = svg.iter(f"{_SVG}circle"), svg.iter(f"{_SVG}rect")
    points = 2 * len(sweep.values) + 2  # of both panels, and their legends
    assert len(list(circles)) == points
    assert len([square for square in squares if square.get("class") != "page"]) == points


def test_lines_stay_inside_their_panel():
    panel = plot.Panel("t", (1, 10, 100), {"a": (0.02, 3, 70_000), "b": (5, 5, 5)})
    svg = ElementTree.fromstring(plot.picture([panel], "n", plot.short))
    for circle in svg.iter(f"{_SVG}circle"):
        assert 0 < float(circle.get("cx", "")) < plot.WIDTH
        assert 0 < float(circle.get("cy", "")) < plot.HEIGHT - plot.BOTTOM + 1


def test_ticks_are_around_the_values():
    assert plot.ticks([3, 40]) == [2, 5, 10, 20, 50]
    assert plot.ticks([5, 5]) == [5, 10]
    assert plot.ticks([0.3, 90_000]) == pytest.approx([10.0**e for e in range(-1, 6)])
