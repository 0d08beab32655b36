"""`pyjs explain consumer`: why a consumer delivers nothing, or not all."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import click

from ...cli import output
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import ExitCode
from ...cli.jetstream import JsApi
from ..consumer.info import CONSUMER, chosen
from ..stream.info import ALL, STREAM
from . import queries
from .ack_findings import EXAMPLE, ack_subject, given_up
from .consumer_facts import ConsumerFacts
from .consumer_findings import of_consumer
from .domains import twins
from .finding import FINDINGS, NOTE, Finding, show
from .publisher import Publisher, asked, refusal
from .stream_facts import filters_of
from .stream_findings import of_stream


@click.command(cls=Command)
@output.listing(FINDINGS)
@STREAM
@CONSUMER
@ALL
async def consumer(stream: str, consumer: str, all_streams: bool) -> ExitCode:
    """Say why CONSUMER delivers nothing: its filter, acks, pulls or interest, its servers, the STREAM."""
    async with connect() as connection:
        stream, consumer = await chosen(connection, stream, consumer, everything=all_streams)
        found = await _findings(connection, stream, consumer)
    return show(f"Consumer {stream} > {consumer}", found, "nothing keeps messages from being delivered")


async def _findings(connection: NatsConnection, stream: str, consumer: str) -> list[Finding]:
    facts = await queries.stream_of(connection, stream)
    if isinstance(facts, Finding):
        return [facts]
    # What is wrong with the stream keeps messages from the consumer, too.
    behind = [each for each in of_stream(facts) if each.severity != NOTE and each.check != "untaken"]
    info = await queries.consumer_info(connection, stream, consumer)
    if isinstance(info, Finding):
        return [info, *behind]
    filters = [each for each in filters_of(info["config"]) if each != ">"]
    last = await queries.last_sequences(connection.js, stream, filters)
    subjects: list[str] = []
    if 0 in last.values():
        number = facts.state.get("num_subjects", 0)
        subjects = sorted(await queries.subjects_of(connection.js, stream, number))
    mine, asked_for = str(connection.greeting.get("domain") or ""), connection.profile.domain
    domain = asked_for if asked_for != mine else ""
    known = ConsumerFacts(info, facts.info, last, tuple(subjects), domain=domain)
    if known.config.get("ack_policy", "none") != "none" and connection.greeting.get("domain"):
        found = await twins(connection, {stream: [consumer]})
        known = replace(known, twins=tuple(found.get((stream, consumer), ())))
    known = _permitted(known, await asked(connection, queries.UNREACHABLE_SECONDS), connection.js)
    if given_up(known)[0]:
        known = replace(known, keeping=await queries.letter_keeping(connection.js, stream, consumer))
    return [*of_consumer(known), *behind]


def _permitted(facts: ConsumerFacts, user: Publisher, js: JsApi) -> ConsumerFacts:
    """Return the facts with what this user may not do that a client of the consumer has to."""
    mute = unasked = ""
    if facts.count("num_ack_pending") or facts.count("num_redelivered"):
        mute = user.mute("acknowledgements", partial(refusal, subject=ack_subject(facts, EXAMPLE)))
    target = facts.config.get("deliver_subject", "")
    if not target:
        subject = js.subject(f"CONSUMER.MSG.NEXT.{facts.info['stream_name']}.{facts.info['name']}")
        unasked = user.mute("requests for messages", partial(refusal, subject=subject), answer=False)
    deaf = user.deaf(target, facts.config.get("deliver_group", "")) if target else ""
    return replace(facts, mute=mute, unasked=unasked, deaf=deaf)
