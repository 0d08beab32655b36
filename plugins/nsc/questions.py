"""The questions of the commands for operators, accounts and users with `-i`, in the words of nsc."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...cli import prompt
from ...keys import AccountClaims, Claims, IdentityError, KeyRole, Workspace, WorkspaceError, is_public
from ...keys.claims import UserPermissionLimits, service_url_error
from ...keys.workspace.accounts import AccountEdits
from ...keys.workspace.edits import NO_DATES, Dates, SigningKeys, Tags
from ...keys.workspace.flag_values import date, moment, size
from ...keys.workspace.jetstream import JetStreamEdits, limits_of
from ...keys.workspace.operators import OperatorEdits
from ...keys.workspace.permissions import UserEdits
from ...keys.workspace.signing import GENERATE, given_key, operator_signers
from ...keys.workspace.signing import user_signers as signers_of_users
from . import prompts

_FORMAT = "('0' is always) - yyyy-mm-dd, #m(inutes), #h(ours), #d(ays), #w(eeks), #M(onths), #y(ears)"
_OTHER = "Other..."


async def name(message: str, given: str) -> str:
    """Ask for a name; the flag's value is the default."""
    return await prompt.text(message, flag="--name", default=given or None, required=True)


async def key(kind: str, given: str) -> str:
    """Ask for the key of a new account or user; "" has one generated."""
    if await prompt.confirm(f"generate an {kind} nkey", default=not given):
        return ""
    role = KeyRole.ACCOUNT if kind == "account" else KeyRole.USER
    return await _key(f"path to an {kind} nkey or nkey", "--public-key", given, _key_check(role))


async def identity(workspace: Workspace) -> Workspace:
    """Ask for the identity of a new operator: a generated or a given one."""
    if await prompt.confirm("generate an operator nkey", default=True):
        return workspace
    check = _key_check(KeyRole.OPERATOR)
    given = await _key("path to an operator nkey or nkey", "--private-key", "", check)
    return replace(workspace, private_key=given)


async def dates(given: Dates, present: Claims | None = None) -> Dates:
    """Ask for the validity dates; the default is what the flags say, else what the claims have."""
    start = given.start if given.start is not None else present.nbf if present is not None else 0
    expiry = given.expiry if given.expiry is not None else present.exp if present is not None else 0
    return Dates(
        await _date("valid from", "--start", start),
        await _date("valid until (0 is always)", "--expiry", expiry),
    )


async def tags(given: Tags, present: Iterable[str]) -> Tags:
    """Ask for tags to remove and to add."""
    there = list(present)
    removed = list(given.remove)
    if there and await prompt.confirm("remove tags"):
        removed += await prompt.choose_many("select tags to remove", there, flag="--rm-tag")
    added = list(given.add)
    while await prompt.confirm("add another tags" if added or there else "add a tags"):
        added.append(await prompt.text("enter a tags", flag="--tag", required=True))
    return Tags(tuple(added), tuple(removed))


async def signing_keys(given: SigningKeys, role: KeyRole) -> SigningKeys:
    """Ask for signing keys to add."""
    added = list(given.add)
    while await prompt.confirm("add another signing key" if added else "add a signing key"):
        check = _key_check(role, generate=True)
        added.append(await _key("path to sk nkey or nkey", "--sk", "", check))
    return replace(given, add=tuple(added))


async def signer(workspace: Workspace, keys: Sequence[str], message: str, *roles: KeyRole) -> Workspace:
    """Ask for the signing key, if there is a choice; the workspace then has it as `-K`."""
    stored = [key for key in keys if workspace.keystore.has(key)]
    if workspace.private_key or (len(stored) == 1 and len(keys) == 1):
        return workspace
    choices = [(key, key) for key in stored]
    if len(stored) < len(keys):
        choices.append((_OTHER, _OTHER))
    if not choices:
        raise WorkspaceError("no key may sign here: the operator requires signing keys, and there are none")
    picked = await prompt.choose(message, choices, flag="", default=choices[0][0])
    if picked == _OTHER:
        words = " or ".join(role.word for role in roles)
        check = _key_check(*roles)
        picked = await prompt.text(
            f"path to signer {words} nkey or nkey", flag="", required=True, check=check
        )
    else:
        prompt.note("--private-key", picked)
    return replace(workspace, private_key=picked)


async def operator_signer(workspace: Workspace, message: str) -> Workspace:
    """Ask for the key that signs a new account."""
    if workspace.store().managed:
        return workspace
    return await signer(workspace, operator_signers(workspace.operator()), message, KeyRole.OPERATOR)


async def account_signer(workspace: Workspace, claims: AccountClaims) -> Workspace:
    """Ask for the key that signs an edited account."""
    keys = operator_signers(workspace.operator())
    if workspace.store().managed:
        return workspace
    return await signer(workspace, keys, "select the key to use for signing", KeyRole.OPERATOR)


async def user_signer(workspace: Workspace, account: str, message: str) -> Workspace:
    """Ask for the key that signs a user."""
    owner = workspace.account(account)
    stored = [key for key in signers_of_users(workspace.operator(), owner) if workspace.keystore.has(key)]
    return await signer(workspace, stored, message, KeyRole.ACCOUNT) if stored else workspace


async def users(workspace: Workspace, account: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """Ask for some of an account's users."""
    if given:
        return given
    there = workspace.store().users(account)
    if not there:
        raise WorkspaceError(f"account {account} doesn't have any users - add one first")
    return tuple(await prompt.choose_many("select users", there, flag="--name"))


async def user_edits(given: UserEdits, present: UserPermissionLimits) -> UserEdits:
    """Ask for a user's payload limit; everything else has only flags."""
    default = given.payload if given.payload is not None else present.payload
    return replace(given, payload=await _number("max payload (-1 unlimited)", "--payload", default))


async def operator_edits(workspace: Workspace, given: OperatorEdits) -> tuple[OperatorEdits, Workspace]:
    """Ask for all that can be changed of the current operator, and for the signing key."""
    present = workspace.operator()
    body = present.nats
    changed: dict[str, Any] = {
        "dates": await dates(given.dates, present),
        "tags": await tags(given.tags, body.tags),
    }
    url = given.account_server_url if given.account_server_url is not None else body.account_server_url
    url = await prompt.text("account jwt server url", flag="--account-jwt-server-url", default=url)
    changed["account_server_url"] = url.strip() if url.strip() != body.account_server_url else None
    added = list(given.service_urls)
    if await prompt.confirm("add a service url", default=True):
        while True:
            added.append(
                await prompt.text(
                    "operator service url", flag="--service-url", required=True, check=_service_url
                )
            )
            if not await prompt.confirm("add another service url", default=True):
                break
    removed = list(given.rm_service_urls)
    there = body.operator_service_urls
    if there and await prompt.confirm("remove any service urls", default=True):
        removed += await prompt.choose_many("select service urls to remove", there, flag="--rm-service-url")
    changed |= {"service_urls": tuple(added), "rm_service_urls": tuple(removed)}
    accounts = workspace.store().accounts()
    if accounts and await prompt.confirm("Set system account"):
        choices = [(name, name) for name in accounts]
        changed["system_account"] = await prompt.choose(
            "select account", choices, flag="--system-account", default=accounts[0]
        )
    changed["signing_keys"] = await signing_keys(given.signing_keys, KeyRole.OPERATOR)
    keys = [present.sub, *body.signing_keys]
    workspace = await signer(workspace, keys, "select the key to use for signing", KeyRole.OPERATOR)
    return replace(given, **changed), workspace


async def account_edits(
    workspace: Workspace, account: str, given: AccountEdits
) -> tuple[AccountEdits, Workspace]:
    """Ask for all that nsc asks about an account, and for the signing key."""
    present = workspace.store().account(account)
    body = present.nats
    keys = await signing_keys(given.signing_keys, KeyRole.ACCOUNT)
    limits = dict(given.limits)
    for field, flag, words in (
        ("conn", "--conns", "max connections"),
        ("leaf", "--leaf-conns", "max leaf node connections"),
        ("data", "--data", "max data"),
        ("exports", "--exports", "max exports"),
        ("imports", "--imports", "max imports"),
        ("payload", "--payload", "max payload"),
        ("subs", "--subscriptions", "max subscriptions"),
    ):
        default = getattr(body.limits, field)
        value = await _number(f"{words} (-1 unlimited)", flag, int(limits.get(field, default)))
        if value != default or field in limits:
            limits[field] = value
    jetstream = await _jetstream(given.jetstream, present)
    when = await dates(given.dates, present)
    labels = await tags(given.tags, body.tags)
    workspace = await account_signer(workspace, present)
    description = given.description if given.description is not None else body.description
    info_url = given.info_url if given.info_url is not None else body.info_url
    description = await prompt.text("Account Description", flag="--description", default=description)
    info_url = await prompt.text("Info url", flag="--info-url", default=info_url)
    subject, sampling = given.trace_subject, given.trace_sampling
    if await prompt.confirm("Enable context tracing?"):
        subject = await prompt.text(
            "Trace context subject?", flag="--trace-context-subject", default=subject or "trace.messages"
        )
        rate = await _number("Trace context sampling rate [1-100]", "--trace-context-sampling", sampling or 0)
        sampling = min(max(rate, 0), 100)
    edits = replace(
        given,
        signing_keys=keys,
        limits=limits,
        jetstream=jetstream,
        dates=when,
        tags=labels,
        description=description if description != body.description else None,
        info_url=info_url if info_url != body.info_url else None,
        trace_subject=subject,
        trace_sampling=sampling,
    )
    return edits, workspace


async def _jetstream(given: JetStreamEdits, present: AccountClaims) -> JetStreamEdits:
    if not await prompt.confirm("set JetStream limits"):
        return given
    tier = await _number("edit tier (0 matches all tiers)", "--js-tier", given.tier or 0)
    now = limits_of(present.nats.limits, tier)
    limits = dict(given.limits)
    for field, flag, words in (
        ("mem_storage", "--js-mem-storage", "max mem storage (-1 unlimited / 0 disabled)"),
        ("disk_storage", "--js-disk-storage", "max disk storage (-1 unlimited / 0 disabled)"),
        ("streams", "--js-streams", "max streams (-1 unlimited)"),
        ("consumer", "--js-consumer", "max consumer (-1 unlimited)"),
        ("mem_max_stream_bytes", "--js-max-mem-stream", "max size for a memory stream (-1 unlimited)"),
        ("disk_max_stream_bytes", "--js-max-disk-stream", "max size for a disk stream (-1 unlimited)"),
        ("max_ack_pending", "--js-max-ack-pending", "max number of pending acks for a consumer"),
    ):
        storage = field in {"mem_storage", "disk_storage"}
        if not storage and not (limits["mem_storage"] or limits["disk_storage"]):
            break
        default = getattr(now, field) or (0 if storage else -1)
        limits[field] = await _number(words, flag, limits.get(field, default))
    required = given.max_bytes_required
    if limits["mem_storage"] or limits["disk_storage"]:
        required = await prompts.yes(
            "require max bytes when creating a stream", "--js-max-bytes-required", bool(required)
        )
    return replace(given, tier=tier, limits=limits, max_bytes_required=required)


async def _key(message: str, flag: str, given: str, check: Any) -> str:
    """Ask for a key or its file. A typed seed is not repeated in the equivalent command line."""
    answer: str = await prompt.text(message, flag="", default=given or None, required=True, check=check)
    secret = not is_public(answer) and answer != GENERATE and not _is_file(answer)
    prompt.note(flag, "<SEED>" if secret else answer)
    return answer


def _is_file(text: str) -> bool:
    return Path(text).expanduser().is_file()


async def _number(message: str, flag: str, default: int) -> int:
    return await prompt.text(message, flag=flag, default=f"{default}", required=True, check=_whole)


async def _date(message: str, flag: str, default: int) -> int | None:
    answer = await prompt.text(
        message, flag=flag, default=date(default), explain=f"{message} {_FORMAT}", check=_moment
    )
    return answer if answer != default else NO_DATES.start


def _whole(text: str) -> int:
    try:
        return size(text)
    except WorkspaceError as error:
        raise ValueError(str(error)) from None


def _moment(text: str) -> int:
    try:
        return moment(text, time.time_ns())
    except WorkspaceError as error:
        raise ValueError(str(error)) from None


def _service_url(text: str) -> str:
    if problem := service_url_error(text):
        raise ValueError(problem)
    return text


def _key_check(*roles: KeyRole, generate: bool = False) -> Any:
    """Return a check that an answer is a key of a role, or its file."""

    def check(text: str) -> str:
        if not (generate and text == GENERATE):
            try:
                given_key(text, *roles)
            except IdentityError as error:
                raise ValueError(str(error)) from None
        return text

    return check
