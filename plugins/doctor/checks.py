"""What is wrong with a connection and its settings: pure functions from facts to findings.

`of_facts` runs all checks, those of streams, consumers and servers included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from shlex import quote

from ...cli import words
from ...cli.proposal import command
from ..explain.finding import ERROR, NOTE, WARNING, Finding
from .expiry import SOON, TOKEN_SOON, TOKEN_URGENT, URGENT, ending
from .facts import DoctorFacts, Failure
from .jetstream_checks import of_jetstream
from .server_checks import of_servers

SECOND = 1_000_000_000
CLOCK = 2 * SECOND  # beyond what is not known of a clock; then ages and times begin to mislead
SLOW = 500_000_000  # ns, of a round trip
REFUSAL = re.compile(r'(?P<kind>publish|subscription) to "(?P<subject>[^"]*)"', re.IGNORECASE)
OF_SERVERS = "$SYS.REQ."
PRIVATE = 0o077  # the permissions that a file with secrets may not give


def of_facts(facts: DoctorFacts) -> list[Finding]:
    """Return everything that is to be said."""
    return [each for check in CHECKS for each in check(facts)]


def _connection(facts: DoctorFacts) -> Iterator[Finding]:
    link = facts.link
    if isinstance(link, Failure):
        yield Finding(
            "connection", ERROR, link.text, {},
            (*_shown(facts.settings.context), command("account", "info")),
        )  # fmt: skip
        return
    if link.rtt > SLOW:
        yield Finding(
            "round_trip", WARNING,
            f"A round trip takes {words.span(link.rtt)}: every request waits at least that long.",
            {"rtt": words.go_span(link.rtt)}, (command("rtt"),), link.url,
        )  # fmt: skip
    if facts.settings.secret and not link.encrypted and not link.loopback:
        yield Finding(
            "plain_secret", WARNING,
            "The password or token is sent without encryption, and whoever is on the way can read it.",
            {"url": link.url, "tls": False}, (command("account", "info", "--server", "tls://HOST"),),
            link.url,
        )  # fmt: skip


def _shown(context: str) -> tuple[str, ...]:
    """Return the command that shows a context, if the settings come from one."""
    return (command("context", "info", context),) if context else ()


def _context(facts: DoctorFacts) -> Iterator[Finding]:
    given = facts.settings
    if given.context and given.overridden:
        yield Finding(
            "overridden", WARNING,
            f"{', '.join(given.overridden)} in the environment take the place of what the context "
            f"{given.context} says.",
            {"context": given.context, "variables": list(given.overridden)},
            (f"unset {' '.join(given.overridden)}", command("context", "info", given.context)), given.context,
        )  # fmt: skip
    if given.mode & PRIVATE:
        yield Finding(
            "readable_secret", WARNING,
            f"The file of the context {given.context} has secrets, and others on this machine may read it.",
            {"file": given.file, "mode": f"{given.mode:o}"}, (f"chmod 600 {quote(given.file)}",),
            given.context,
        )  # fmt: skip


def _clock(facts: DoctorFacts) -> Iterator[Finding]:
    link = facts.link
    if isinstance(link, Failure) or link.ahead is None:
        return
    if abs(link.ahead) > CLOCK + link.rtt // 2:
        side = "ahead of" if link.ahead > 0 else "behind"
        yield Finding(
            "clock", WARNING,
            f"The server's clock is {words.span(abs(link.ahead))} {side} this machine's: tokens, ages and "
            "start times mean something else here than there.",
            {"ahead": words.go_span(link.ahead), "rtt": words.go_span(link.rtt)}, ("timedatectl status",),
            link.url,
        )  # fmt: skip


def _certificates(facts: DoctorFacts) -> Iterator[Finding]:
    link, given = facts.link, facts.settings
    if not isinstance(link, Failure) and link.certificate_end is not None:
        host = link.url.partition("://")[2]
        yield from ending(
            "server_certificate", f"The certificate of {host}", link.certificate_end, facts.now, SOON, URGENT,
            command("server", "request", "variables"), link.url,
        )  # fmt: skip
    if given.certificate_end is not None:
        yield from ending(
            "client_certificate", "The client's certificate", given.certificate_end, facts.now, SOON, URGENT,
            f"openssl x509 -noout -enddate -in {quote(given.certificate)}", given.certificate,
        )  # fmt: skip
    if given.credentials_end is not None:
        yield from ending(
            "credentials", "The user's token", given.credentials_end, facts.now, TOKEN_SOON, TOKEN_URGENT,
            command("nsc", "edit", "user", "--name", given.user or "NAME", "--expiry", "90d"), given.user,
        )  # fmt: skip


def _permissions(facts: DoctorFacts) -> Iterator[Finding]:
    if isinstance(facts.link, Failure):
        return
    kinds: dict[str, list[str]] = {"inbox": [], "told": []}
    for each in dict.fromkeys(facts.link.refusals):
        found = REFUSAL.search(each)
        subject = found["subject"] if found else ""
        if found and found["kind"].lower() == "subscription":
            kinds["inbox"].append(subject)
        elif subject.upper().startswith(OF_SERVERS):
            kinds["told"].append(subject)
        else:
            yield Finding(
                "permissions", WARNING,
                f"A server refused a question of this examination: {each}. What depends on it is not judged.",
                {"refusal": each}, (command("account", "info"),), facts.link.url,
            )  # fmt: skip
    if kinds["inbox"]:
        first = kinds["inbox"][0]
        yield Finding(
            "inbox", ERROR,
            f"The user may not subscribe to {first}, where answers come to: it gets none, to no request.",
            {"subject": first}, (command("doctor", "--inbox-prefix", "PREFIX"),), facts.link.url,
        )  # fmt: skip
    if kinds["told"]:
        yield Finding(
            "permissions", NOTE,
            "The user may not ask what it may do, nor the servers: its clock, permissions and servers are "
            "not judged.",
            {"refused": kinds["told"]}, (command("account", "info"),), facts.link.url,
        )  # fmt: skip


def _jetstream(facts: DoctorFacts) -> Iterator[Finding]:
    jetstream = facts.jetstream
    if isinstance(facts.link, Failure):
        return
    if isinstance(jetstream, Failure):
        asked = facts.settings.domain
        if facts.link.system and jetstream.absent and not asked:
            return  # the system account has none
        yield Finding(
            "jetstream", WARNING if jetstream.absent and not asked else ERROR,
            (f"In the domain {asked}: " if asked else "") + jetstream.text,
            {"domain": asked} if asked else {}, (command("account", "info"),), asked,
        )  # fmt: skip
        return
    domain, count = jetstream.account.get("domain", ""), jetstream.account.get("streams", 0)
    yield Finding(
        "jetstream_domain", NOTE, f"JetStream answers, {_domain(domain)}.",
        {"domain": domain, "streams": count},
    )  # fmt: skip
    yield from of_jetstream(jetstream)


def _domain(name: str) -> str:
    return f"in the domain {name}" if name else "without a domain"


def _servers(facts: DoctorFacts) -> Iterator[Finding]:
    name = facts.settings.system
    if isinstance(facts.servers, Failure):
        yield Finding(
            "system_account", ERROR, f"The servers tell the user of {name} nothing. {facts.servers.text}",
            {"context": name}, (command("server", "list", "--context", name),), name,
        )  # fmt: skip
    else:
        yield from of_servers(facts.servers, facts.now, name)


CHECKS: tuple[Callable[[DoctorFacts], Iterator[Finding]], ...] = (
    _connection,
    _context,
    _clock,
    _certificates,
    _permissions,
    _jetstream,
    _servers,
)
