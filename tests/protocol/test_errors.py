"""The error table and the two families of errors."""

import pytest
from pyjs.protocol import errors
from pyjs.protocol.errors import ApiError, PeerError, api_error


def test_the_table_is_whole_and_unambiguous() -> None:
    rows = list(errors.entries())
    assert len(rows) == 226
    assert len({row.err_code for row in rows}) == len(rows)
    assert all(10_000 <= row.err_code < 11_000 and 400 <= row.code < 600 for row in rows)


def test_an_error_by_its_name_fills_its_placeholders() -> None:
    error = api_error("JSStreamNotFoundErr")
    assert error.to_json() == {"code": 404, "err_code": 10059, "description": "stream not found"}
    assert api_error("JSStreamInvalidConfigF", err="why").description == "why"
    assert str(error) == "stream not found (10059)"


def test_missing_placeholders_and_unknown_names_are_our_bugs() -> None:
    with pytest.raises(KeyError):
        api_error("JSStreamInvalidConfigF")
    with pytest.raises(KeyError):
        api_error("JSNoSuchErr")


@pytest.mark.parametrize("entry", list(errors.entries()), ids=lambda entry: entry.constant)
def test_every_error_can_be_made(entry: errors.ErrorRow) -> None:
    made = api_error(entry.constant, **dict.fromkeys(entry.placeholders, "x"))
    assert "{" not in made.description
    assert ApiError.from_json(made.to_json()) == made


def test_a_peer_error_without_text_still_has_a_reason() -> None:
    error = PeerError("", True, "Protocol Violation")
    assert (error.text, str(error)) == ("", "Protocol Violation")
