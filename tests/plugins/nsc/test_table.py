"""Tables as nsc draws them."""

from __future__ import annotations

from pyjs.plugins.nsc.table import TextTable, bold


def test_a_title_row_headers_and_separators() -> None:
    table = TextTable("Users", ("Name", "Public Key"))
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
    table = TextTable("A long title")
    table.row("a", "b")
    assert table.render() == (
        "+--------------+\n| A long title |\n+---+----------+\n| a | b        |\n+---+----------+\n"
    )


def test_an_odd_rest_goes_to_the_right_of_the_title() -> None:
    table = TextTable('Operator "O"')
    table.row("No issues found")
    assert table.render().splitlines()[1] == '|  Operator "O"   |'


def test_colours_have_no_width_and_labels_stand_once() -> None:
    table = TextTable()
    table.rows("Tags", [bold("a"), "bcd"])
    table.rows("Nothing", [])
    assert table.render() == (
        "+------+-----+\n| Tags | \x1b[1ma\x1b[0m   |\n|      | bcd |\n+------+-----+\n"
    )


def test_control_characters_of_names_do_nothing() -> None:
    table = TextTable("a\nb")
    table.row("x\x1b[2Jy", "tab\there")
    assert table.render() == (
        "+-------------------+\n"
        "|        a b        |\n"
        "+--------+----------+\n"
        "| x [2Jy | tab here |\n"
        "+--------+----------+\n"
    )


def test_long_cells_go_on_in_further_rows() -> None:
    table = TextTable("T", ("Setting", "Value"))
    table.row("A", "one two three four five six seven")
    table.separator()
    table.row("B", "short")
    drawn = table.render(34)
    assert drawn == (
        "+------------------------------+\n"
        "|              T               |\n"
        "+---------+--------------------+\n"
        "| Setting | Value              |\n"
        "+---------+--------------------+\n"
        "| A       | one two three four |\n"
        "|         | five six seven     |\n"
        "+---------+--------------------+\n"
        "| B       | short              |\n"
        "+---------+--------------------+\n"
    )
    assert "four five" in table.render()
