"""Templates of scoped signing keys, filled in for one user."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.keys.scope import MAX_SUBJECTS, TemplateError, apply_template, fill


@pytest.fixture
def parts(party: Any) -> tuple[Any, Any, Any]:
    user, account = party.user_claims(), party.account_claims()
    user.nats.tags, account.nats.tags = ["dept:eng", "dept:ops", "id:7"], ["region:eu"]
    return account.nats.signing_keys[party.scoped.public_key].template, user, account


@pytest.mark.parametrize(
    ("entry", "wanted"),
    [
        ("plain.>", ["plain.>"]),
        ("a.{{name()}}", ["a.ann"]),
        ("a.{{ NAME() }}", ["a.ann"]),
        ("{{account-name()}}.{{Account-Tag(REGION)}}", ["ACC.eu"]),
        ("{{tag(dept)}}.x", ["eng.x", "ops.x"]),
        ("{{tag(dept)}}.{{tag(id)}}", ["eng.7", "ops.7"]),
        ("{{tag(dept)}}.{{tag(dept)}}", ["eng.eng", "ops.ops"]),
        ("x.{{tag(none)}}", []),
    ],
)
def test_an_allowed_subject_is_filled_in(parts: Any, entry: str, wanted: list[str]) -> None:
    template, user, account = parts
    template.sub.allow = [entry, "kept.{{name()}}"]
    assert apply_template(template, user, account).sub.allow == [*wanted, "kept.ann"]


def test_keys_are_filled_in(parts: Any) -> None:
    template, user, account = parts
    template.pub.deny = ["{{subject()}}.{{account-subject()}}"]
    assert apply_template(template, user, account).pub.deny == [f"{user.sub}.{account.sub}"]


def test_an_allow_list_that_comes_out_empty_denies_all(parts: Any) -> None:
    template, user, account = parts
    template.pub.allow, template.sub.deny = ["{{tag(none)}}"], []
    result = apply_template(template, user, account)
    assert (result.pub.allow, result.pub.deny, result.sub.deny) == ([], [">"], [])


@pytest.mark.parametrize("entry", ["{{tag(none)}}", "{{account-tag(x)}}.y"])
def test_a_missing_tag_in_a_deny_list_refuses(parts: Any, entry: str) -> None:
    template, user, account = parts
    template.sub.deny = [entry]
    with pytest.raises(TemplateError, match="not defined"):
        apply_template(template, user, account)


@pytest.mark.parametrize("entry", ["{{nothing()}}", "{{name}}", "{{tag()x}}"])
def test_an_unknown_operation_refuses(parts: Any, entry: str) -> None:
    template, user, account = parts
    template.sub.allow = [entry]
    with pytest.raises(TemplateError, match="not defined"):
        apply_template(template, user, account)


def test_a_name_that_makes_no_subject_is_dropped_or_refuses(parts: Any) -> None:
    template, user, account = parts
    user.name = "a b"
    template.sub.allow = ["x.{{name()}}", "y.{{subject()}}"]
    assert apply_template(template, user, account).sub.allow == [f"y.{user.sub}"]
    template.sub.deny = ["x.{{name()}}"]
    with pytest.raises(TemplateError, match="invalid subject"):
        apply_template(template, user, account)


def test_what_is_filled_in_is_not_a_template_again(parts: Any) -> None:
    template, user, account = parts
    user.name = "{{subject()}}"
    template.sub.allow = ["x.{{name()}}"]
    assert apply_template(template, user, account).sub.allow == ["x.{{subject()}}"]


def test_the_number_of_subjects_is_bounded(parts: Any) -> None:
    template, user, account = parts
    user.nats.tags = [f"t:{n}" for n in range(65)] + [f"s:{n}" for n in range(64)]
    template.sub.allow = ["{{tag(t)}}.{{tag(s)}}"]
    with pytest.raises(TemplateError, match=str(MAX_SUBJECTS)):
        apply_template(template, user, account)
    user.nats.tags = user.nats.tags[1:]
    assert len(apply_template(template, user, account).sub.allow) == MAX_SUBJECTS
    template.sub.allow = ["{{tag(t)}}.{{tag(s)}}", "one.{{name()}}"]
    with pytest.raises(TemplateError):
        apply_template(template, user, account)


def test_the_template_itself_stays(parts: Any) -> None:
    template, user, account = parts
    template.sub.allow = ["x.{{name()}}"]
    apply_template(template, user, account)
    assert template.sub.allow == ["x.{{name()}}"]


@given(st.lists(st.text(max_size=15), max_size=4), st.text(max_size=5), st.booleans())
def test_any_template_is_filled_in_or_refuses(entries: list[str], value: str, deny: bool) -> None:
    try:
        result = fill([*entries, "{{name()}}"], lambda op: [value] if op == "name()" else None, deny=deny)
    except TemplateError:
        return
    assert len(result) <= MAX_SUBJECTS
