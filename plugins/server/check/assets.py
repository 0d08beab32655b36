"""`pyjs server check consumer`, `message` and `kv`: the contents of streams, and their delivery."""

from __future__ import annotations

import base64
import re
from typing import Any

import click

from ....cli import render
from ....cli.connection import connect
from ....cli.errors import CliError, RemoteError
from ....cli.jetstream import STREAM_NOT_FOUND
from ....cli.param import DURATION, PATTERN
from ....protocol import subject as subjects
from .result import SECOND, CheckResult, checking
from .stream import effective_limits

Info = dict[str, Any]
NO_MESSAGE = 10037
CONSUMER_LIMITS = (
    *("outstanding_ack_critical", "waiting_critical", "unprocessed_critical"),
    *("last_delivery_critical", "last_ack_critical", "redelivery_critical"),
)


@checking("consumer")
@click.option("--stream", required=True, help="The Stream.")
@click.option("--consumer", "name", required=True, help="The Consumer.")
@click.option("--outstanding-ack-critical", type=int, help="Most messages that wait for an ack.")
@click.option("--waiting-critical", type=int, help="Most pulls that wait.")
@click.option("--unprocessed-critical", type=int, help="Most messages that were not delivered yet.")
@click.option("--last-delivery-critical", type=DURATION, help="Longest time since a delivery.")
@click.option("--last-ack-critical", type=DURATION, help="Longest time since an ack.")
@click.option("--redelivery-critical", type=int, help="Most messages that are delivered again.")
@click.option("--pinned", is_flag=True, help="All priority groups need a pinned client.")
async def consumer(result: CheckResult, stream: str, name: str, pinned: bool, **given: Any) -> None:
    """Check a Consumer's acks, pulls and progress."""
    result.name = f"{stream}_{name}"
    async with connect(quiet=True) as connection:
        info = await connection.js.consumer_info(stream, name)
    examine_consumer(result, info, given, pinned=pinned)


def examine_consumer(result: CheckResult, info: Info, given: Info, *, pinned: bool) -> None:
    """Check a consumer by its information.

    given: a value for each of CONSUMER_LIMITS; None where the metadata decides.
    """
    limits = effective_limits(
        given, info["config"].get("metadata") or {}, {"last_delivery_critical", "last_ack_critical"}
    )
    for metric, key, flag, title, text in (
        ("ack_pending", "num_ack_pending", "outstanding_ack_critical", "Ack Pending",
         "The number of messages waiting to be Acknowledged"),
        ("pull_waiting", "num_waiting", "waiting_critical", "Waiting Pulls",
         "The number of waiting Pull requests"),
        ("pending", "num_pending", "unprocessed_critical", "Unprocessed Messages",
         "The number of messages that have not yet been consumed"),
        ("redelivered", "num_redelivered", "redelivery_critical", "Redelivered",
         "The number of messages currently being redelivered"),
    ):  # fmt: skip
        value = info.get(key, 0)
        result.metric(metric, value, text, critical=limits[flag])
        if limits[flag] > 0:
            result.above(f"{title}: {value}", value, 0, limits[flag])
    _since(result, info, "delivered", "last_delivery", "Last delivery", "No deliveries", limits)
    _since(result, info, "ack_floor", "last_ack", "Last ack", "No acks", limits)
    if pinned:
        _pinned(result, info)


def _since(
    result: CheckResult, info: Info, key: str, metric: str, title: str, never: str, limits: Info
) -> None:
    """Check how long ago something last happened."""
    longest = limits[f"{metric}_critical"]
    ago = render.since((info.get(key) or {}).get("last_active", ""), info.get("ts", ""))
    if ago >= 0:
        text = f"Seconds since the {title.lower()}"
        result.metric(metric, ago / SECOND, text, critical=longest / SECOND, unit="s")
    if longest <= 0:
        return
    if ago < 0:
        result.critical(never)
    else:
        result.above(f"{title} {render.span(ago)} ago", ago, 0, longest)


def _pinned(result: CheckResult, info: Info) -> None:
    wanted = info["config"].get("priority_groups") or []
    if info["config"].get("priority_policy") != "pinned_client" or not wanted:
        result.critical("Not pinned client priority mode")
        return
    count = sum(bool(group.get("pinned_client_id")) for group in info.get("priority_groups") or [])
    result.metric("pinned_groups", count, "The number of consumers groups with pinned clients")
    result.metric("groups", len(wanted), "The total number of consumers groups")
    if count < len(wanted):
        result.critical(f"{count} / {len(wanted)} pinned clients")
    else:
        result.ok(f"{count} pinned clients")


@checking("message", "Stream Message")
@click.option("--stream", required=True, help="The Stream.")
@click.option("--subject", required=True, help="The subject whose last message is looked at.")
@click.option("--age-warn", type=DURATION, default="0s", help="Warn: older than this.")
@click.option("--age-critical", type=DURATION, default="0s", help="Critical: older than this.")
@click.option("--content", type=PATTERN, default=".", help="What it has to contain.")
@click.option("--body-timestamp", is_flag=True, help="The body is the time, in seconds since 1970.")
async def message(
    result: CheckResult,
    stream: str,
    subject: str,
    age_warn: int,
    age_critical: int,
    content: re.Pattern[str],
    body_timestamp: bool,
) -> None:
    """Check age and content of the last message of a subject."""
    if not subjects.is_literal(subject):
        raise CliError(f'invalid subject "{subject}"')
    async with connect(quiet=True) as connection:
        try:
            answer = await connection.js.request(f"STREAM.MSG.GET.{stream}", {"last_by_subj": subject})
        except RemoteError as error:
            raise CliError("no message found" if error.err_code == NO_MESSAGE else error.message) from None
    found = answer["message"]
    body = base64.b64decode(found.get("data", ""))
    text = body.decode(errors="replace")
    age = render.since(found["time"])
    if body_timestamp:
        age = render.since("1970-01-01T00:00:00Z") - _seconds(text) * SECOND
    warning, critical = age_warn / SECOND, age_critical / SECOND
    result.metric("age", age / SECOND, "The age of the message", warning=warning, critical=critical, unit="s")
    result.metric("size", len(body), "The size of the message", unit="B")
    if 0 < age_critical < age:
        result.critical(f"{render.span(age)} old")
    elif 0 < age_warn < age:
        result.warning(f"{render.span(age)} old")
    if not content.search(text):
        result.critical(f"does not match regex: {content.pattern}")
    if not result.criticals and not result.warnings:
        result.ok(f"Valid message on {stream} > {subject}")


def _seconds(text: str) -> int:
    try:
        return int(text.strip())
    except ValueError:
        raise CliError(f"invalid timestamp body: {text[:40]!r}") from None


@checking("kv")
@click.option("--bucket", required=True, help="The bucket.")
@click.option("--values-critical", "critical", type=int, default=-1, help="Critical: this many values.")
@click.option(
    "--values-warn", "warning", type=int, default=-1, help="Warn: this many; above critical: as few."
)
@click.option("--key", default="", help="A key that has to have a value.")
async def kv(result: CheckResult, bucket: str, critical: int, warning: int, key: str) -> None:
    """Check a key-value bucket: its values, and perhaps that a key has one."""
    result.name = bucket
    stream = f"KV_{bucket}"
    async with connect(quiet=True) as connection:
        try:
            info = await connection.js.request(f"STREAM.INFO.{stream}")
        except RemoteError as error:
            unknown = error.err_code == STREAM_NOT_FOUND
            raise CliError(f"bucket {bucket} not found" if unknown else error.message) from None
        result.ok(f"bucket {bucket}")
        values = info["state"]["messages"]
        help_text = "How many values are stored in the bucket"
        result.metric("values", values, help_text, warning=warning, critical=critical)
        if key:
            try:
                answer = await connection.js.request(
                    f"STREAM.MSG.GET.{stream}", {"last_by_subj": f"$KV.{bucket}.{key}"}
                )
                _value(result, key, answer["message"])
            except RemoteError as error:
                absent = error.err_code == NO_MESSAGE
                result.critical(f"key {key} not found" if absent else error.message)
    if critical >= 0 or warning >= 0:
        _values(result, values, warning, critical)
    result.metric("bytes", info["state"]["bytes"], "Bytes stored in the bucket", unit="B")
    result.metric("replicas", info["config"].get("num_replicas", 1), "Replicas of the bucket")


def _value(result: CheckResult, key: str, found: Info) -> None:
    headers = base64.b64decode(found.get("hdrs", "")).decode(errors="replace")
    operation = re.search(r"(?m)^KV-Operation: *(\S+)", headers)
    gone = {"DEL": "deleted", "PURGE": "purged"}.get(operation[1]) if operation else None
    if gone:
        result.critical(f"key {key} is {gone}")
    else:
        result.ok(f"key {key} found")


def _values(result: CheckResult, values: int, warning: int, critical: int) -> None:
    """Check a number of values: too large, or, with critical below warning, too small."""
    few = critical < warning

    def beyond(limit: int) -> bool:
        return limit >= 0 and (values <= limit if few else values >= limit)

    if beyond(critical):
        result.critical(f"{values} values")
    elif beyond(warning):
        result.warning(f"{values} values")
    else:
        result.ok(f"{values} values")
