"""Any tokens in any order: the accounts are as the last tokens say."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from lib.examples import one_in
from lib.operator_accounts import AccountsEnv
from lib.operator_fixture import OperatorAccount
from pyjs.server.accounts import Account
from pyjs.server.accounts.imports import ServiceImport
from pyjs.server.accounts.space import StreamImport

COUNT = 3
# Subjects flow from lower to higher accounts only, so that there are no cycles, in which the first stays.
export = st.fixed_dictionaries(
    {
        "subject": st.sampled_from(["a", "b", "*"]),
        "type": st.sampled_from(["stream", "service"]),
        "token_req": st.booleans(),
    }
)
imported = st.fixed_dictionaries(
    {
        "exporter": st.integers(0, COUNT - 2),
        "subject": st.sampled_from(["a", "b"]),
        "type": st.sampled_from(["stream", "service"]),
        "local": st.sampled_from(["", "x", "y"]),
        "active": st.booleans(),
    }
)
body = st.fixed_dictionaries(
    {
        "exports": st.lists(export, max_size=2, unique_by=lambda e: (e["type"], e["subject"] != "*")),
        "imports": st.lists(
            imported, max_size=3, unique_by=lambda i: (i["type"], i["local"] or i["subject"])
        ),
        "mapped": st.sampled_from(["", "m1", "m2"]),
        "subs": st.integers(-1, 3),
        "disk": st.sampled_from([0, 100, -1]),
    }
)
step = st.tuples(st.integers(0, COUNT - 1), st.one_of(st.none(), body))


def claim(accounts: list[OperatorAccount], index: int, wanted: dict[str, Any]) -> None:
    own = accounts[index]
    exports = wanted["exports"]
    if {"*"} < {e["subject"] for e in exports}:  # they would overlap, and the token would not be valid
        exports = exports[:1]
    imports = []
    for each in wanted["imports"]:
        if each["exporter"] >= index:
            continue
        exporter = accounts[each["exporter"]]
        made = {"account": exporter.id, "subject": each["subject"], "type": each["type"]}
        if each["local"]:
            made["local_subject"] = each["local"]
        if each["active"]:
            made["token"] = exporter.activation(own, each["subject"], each["type"])
        imports.append(made)
    own.set(
        exports=exports,
        imports=imports,
        mappings={"m": [{"subject": wanted["mapped"]}]} if wanted["mapped"] else {},
        limits={"subs": wanted["subs"], "disk_storage": wanted["disk"]},
    )


def shown(account: Account | None) -> dict[str, Any] | None:
    """What an account is, without the identity of objects."""
    if account is None or account.account_token is None:
        return None
    imports: list[StreamImport | ServiceImport] = [*account.imports_streams, *account.imports_services]
    return {
        "exports": [each.key for each in (*account.exports_streams, *account.exports_services)],
        "imports": [(each.exporter.name, each.export.key, each.subject, each.local) for each in imports],
        "heard": sorted(each.subject for each in account.subscriptions()),
        "faults": account.account_token.imports,
        "mapped": account.mapped("m"),
        "limits": account.limits.subscriptions,
        "grants": account.grants,
        "plans": [_planned(account, subject) for subject in ("a", "b", "x", "y", "m")],
    }


def _planned(account: Account, subject: str) -> tuple[bool, str | None]:
    plan = account.plan(subject.encode())
    return plan.silent, None if plan.mapping is None else plan.mapping.choose(subject, lambda: 0.5)


@one_in(2)
@given(st.lists(step, min_size=1, max_size=12))
def test_a_sequence_of_tokens_is_its_last_ones(steps: list[tuple[int, dict[str, Any] | None]]) -> None:
    async def run() -> None:
        fixture, fresh = AccountsEnv(), AccountsEnv()
        fresh.accounts.trust = fixture.accounts.trust
        accounts = [fixture.env.account(str(number)) for number in range(COUNT)]
        gone: set[int] = set()
        await fixture.open(*accounts)
        for index, wanted in steps:
            if wanted is None:
                fixture.accounts.expire(accounts[index].id, deleted=True)
                gone.add(index)
                continue
            claim(accounts, index, wanted)
            fixture.deploy(accounts[index])
            gone.discard(index)
            shown(
                fixture.accounts.account(accounts[index].id)
            )  # so that plans are there, and may be stale later
        left = [index for index in range(COUNT) if index not in gone]
        for index in left:
            fresh.table.tokens[accounts[index].id] = fixture.table.tokens[accounts[index].id]
        for index in left:
            await fresh.accounts.fetch(accounts[index].id)
        for account in accounts:
            there = fixture.accounts.account(account.id)
            assert shown(there) == shown(fresh.accounts.account(account.id))
        await fixture.accounts.stop()
        await fresh.accounts.stop()

    asyncio.run(run())
