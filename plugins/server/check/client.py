"""`pyjs server check connection`, `request` and `credential`: what a client needs."""

from __future__ import annotations

import importlib
import os
import re
import time

import click

from ....cli import render
from ....cli.blocking import echo
from ....cli.connection import connect
from ....cli.errors import CliError
from ....cli.loop import has_loop
from ....cli.param import DURATION, PAIR, PATTERN
from ....client import TimedOut, secret
from .result import SECOND, CheckResult, Decorator, checking

PAYLOAD = 100  # random bytes in the message that makes the round trip


def _span(spelling: str, default: str, text: str) -> Decorator:
    return click.option(spelling, type=DURATION, default=default, show_default=True, help=text)


@checking("connections", "Connection", only_requests=True)
@_span("--connect-warn", "500ms", "Warn: connecting takes this long.")
@_span("--connect-critical", "1s", "Critical: connecting takes this long.")
@_span("--rtt-warn", "500ms", "Warn: a round trip to the server takes this long.")
@_span("--rtt-critical", "1s", "Critical: a round trip to the server takes this long.")
@_span("--req-warn", "500ms", "Warn: a message to oneself takes this long.")
@_span("--req-critical", "1s", "Critical: a message to oneself takes this long.")
async def connection(
    result: CheckResult,
    connect_warn: int,
    connect_critical: int,
    rtt_warn: int,
    rtt_critical: int,
    req_warn: int,
    req_critical: int,
) -> None:
    """Check that a connection is made, and how long messages take."""
    if has_loop():
        importlib.import_module("nats.aio.client")  # loading the client is not part of connecting
    begin = time.perf_counter_ns()
    async with connect(quiet=True) as connection:
        took = time.perf_counter_ns() - begin
        text = f"connected to {connection.url} in {render.go_span(took)}"
        help_text = "Time taken to connect to NATS"
        _time(result, "connect_time", took, (connect_warn, connect_critical), text, help_text)
        begin = time.perf_counter_ns()
        await connection.nc.flush(connection.timeout)
        took = time.perf_counter_ns() - begin
        help_text = "The round-trip-time of the connection"
        _time(result, "rtt", took, (rtt_warn, rtt_critical), f"rtt time {render.go_span(took)}", help_text)
        inbox = connection.nc.new_inbox()
        body = os.urandom(PAYLOAD)
        begin = time.perf_counter_ns()
        try:
            arrived = await echo(connection.nc, inbox, body, connection.timeout)
        except TimedOut:
            raise CliError(f"did not receive from {inbox}: timeout") from None
        took = time.perf_counter_ns() - begin
        if arrived != body:
            result.critical("did not receive expected message")
        text = f"round trip took {took / SECOND:f}s"
        help_text = "Time taken for a full Request-Reply operation"
        _time(result, "request_time", took, (req_warn, req_critical), text, help_text)


def _time(
    result: CheckResult, name: str, took: int, limits: tuple[int, int], text: str, help_text: str
) -> None:
    warning, critical = (limit / SECOND for limit in limits)
    result.metric(name, took / SECOND, help_text, warning=warning, critical=critical, unit="s")
    result.above(text, took, *limits)


@checking("request")
@click.option("--subject", required=True, help="Where the request goes.")
@click.option("--payload", default="", help="What is sent.")
@click.option("--headers", type=PAIR, multiple=True, help="A header that is sent, as KEY=VALUE.")
@click.option("--match-payload", type=PATTERN, help="What the answer has to contain.")
@click.option("--match-headers", type=PAIR, multiple=True, help="A header the answer has to have.")
@_span("--response-critical", "0s", "Critical: the answer takes longer.")
@_span("--response-warn", "0s", "Warn: the answer takes longer.")
async def request(
    result: CheckResult,
    subject: str,
    payload: str,
    headers: tuple[tuple[str, str], ...],
    match_payload: re.Pattern[str] | None,
    match_headers: tuple[tuple[str, str], ...],
    response_critical: int,
    response_warn: int,
) -> None:
    """Check that a service answers."""
    from nats import errors as nats_errors

    result.name = subject
    async with connect(quiet=True) as connection:
        begin = time.perf_counter_ns()
        try:
            answer = await connection.nc.request(
                subject, payload.encode(), timeout=connection.timeout, headers=dict(headers) or None
            )
        except (nats_errors.Error, TimeoutError) as error:
            raise CliError(f"could not send request: {error}") from None
        took = time.perf_counter_ns() - begin
    warning, critical = response_warn / SECOND, response_critical / SECOND
    help_text = "How long the request took"
    result.metric("time", took / SECOND, help_text, warning=warning, critical=critical, unit="s")
    if match_payload is not None and not match_payload.search(answer.data.decode(errors="replace")):
        result.critical("response does not match regexp")
    for key, value in match_headers:
        found = (answer.headers or {}).get(key, "")
        if found != value:
            result.critical(f'invalid header "{key}" = "{found}"')
    if 0 < response_critical < took:
        result.critical(f"response took {render.go_span(took)}")
    elif 0 < response_warn < took:
        result.warning(f"response took {render.go_span(took)}")
    if not result.criticals and not result.warnings:
        result.ok("Valid response")


@checking("credential", "Credential")
@click.option("--credential", "location", required=True, metavar="FILE", help="The credentials.")
@_span("--validity-warn", "0s", "Warn: they end this soon.")
@_span("--validity-critical", "0s", "Critical: they end this soon.")
@click.option("--require-expiry/--no-require-expiry", default=True, help="They have to end some time.")
async def credential(
    result: CheckResult, location: str, validity_warn: int, validity_critical: int, require_expiry: bool
) -> None:
    """Check how long credentials are valid."""
    from ....keys.decorated import undecorate_jwt
    from ....keys.errors import IdentityError
    from ....keys.token import decode

    text = secret.text_or_file("credential", location, "-----BEGIN")
    try:
        expires = decode(undecorate_jwt(text)).exp
    except IdentityError as error:
        raise CliError(f"invalid credential: {error}") from None
    left = (expires * SECOND - time.time_ns()) if expires else 0
    warning, critical = validity_warn / SECOND, validity_critical / SECOND
    help_text = "Expiry time in seconds"
    result.metric("expiry", left / SECOND, help_text, warning=warning, critical=critical, unit="s")
    if not expires:
        (result.critical if require_expiry else result.ok)("never expires")
    elif left <= 0:
        result.critical("expired")
    elif left <= validity_critical:
        result.critical(f"expires sooner than {render.span(validity_critical)}")
    elif left <= validity_warn:
        result.warning(f"expires sooner than {render.span(validity_warn)}")
    else:
        result.ok(f"expires in {render.span(left)}")
