"""Tables as nsc draws them."""

from __future__ import annotations

from pyjs.plugins.nsc.table import Table, bold


def test_a_title_row_headers_and_separators() -> None:
    table = Table("Users", ("Name", "Public Key"))
    table.row("u", "UABC")
    table.separator()
    table.row("on", True)
    assert table.render() == (
        "+-------------------+\n"
        "|       Users       |\n"
        "+------+------------+\n"
        "| Name | Public Key |\n"
        "+------+------------+\n"
        "| u    | UABC       |\n"
        "+------+------------+\n"
        "| on   | true       |\n"
        "+------+------------+\n"
    )


def test_a_long_title_widens_the_last_column() -> None:
    table = Table("A long title")
    table.row("a", "b")
    assert table.render() == (
        "+--------------+\n| A long title |\n+---+----------+\n| a | b        |\n+---+----------+\n"
    )


def test_an_odd_rest_goes_to_the_right_of_the_title() -> None:
    table = Table('Operator "O"')
    table.row("No issues found")
    assert table.render().splitlines()[1] == '|  Operator "O"   |'


def test_colours_have_no_width_and_labels_stand_once() -> None:
    table = Table()
    table.rows("Tags", [bold("a"), "bcd"])
    table.rows("Nothing", [])
    assert table.render() == (
        "+------+-----+\n| Tags | \x1b[1ma\x1b[0m   |\n|      | bcd |\n+------+-----+\n"
    )


def test_control_characters_of_names_do_nothing() -> None:
    table = Table("a\nb")
    table.row("x\x1b[2Jy", "tab\there")
    assert table.render() == (
        "+-------------------+\n"
        "|        a b        |\n"
        "+--------+----------+\n"
        "| x [2Jy | tab here |\n"
        "+--------+----------+\n"
    )
