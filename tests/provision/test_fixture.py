"""`provisioned`: servers with what documents declare, in one domain or in several."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.wire import Wire
from pyjs.documents.problem import DocumentError
from pyjs.provision import ConflictError
from pyjs.server.embed import ThreadedServer

pytest_plugins = ["pytester"]

Provisioned = Callable[..., ThreadedServer]
EDGE = """
domain: edge1
streams:
  ORDERS: {subjects: [orders.*]}
"""
HUB = """
domain: hub
streams:
  ALL: {sources: [{name: ORDERS, domain: edge1}]}
"""


def test_without_domains_it_is_the_server_of_the_test(
    provisioned: Provisioned, jetstream_server: ThreadedServer
) -> None:
    assert provisioned({"streams": {"A": {}}}) is jetstream_server
    with Wire.connected(jetstream_server.port) as wire:
        assert JetStream(wire).info("A")["config"]["name"] == "A"


def test_each_domain_has_a_server_that_the_one_returned_reaches(
    provisioned: Provisioned, tmp_path: Path
) -> None:
    (tmp_path / "edge.yaml").write_text(EDGE)
    (tmp_path / "hub.yaml").write_text(HUB)
    with Wire.connected(provisioned(tmp_path).port) as wire:
        assert wire.request("$JS.API.INFO").json()["domain"] == "edge1"
        wire.request("orders.new", b"one coffee")
        eventually(
            lambda: wire.request("$JS.hub.API.STREAM.INFO.ALL").json()["state"]["messages"] == 1, seconds=30
        )


def test_the_servers_that_a_test_has_started_are_taken(
    provisioned: Provisioned, domain_servers: Callable[..., dict[str, ThreadedServer]]
) -> None:
    servers = domain_servers("hub", "edge2", "edge1")
    server = provisioned({"domain": "edge1", "streams": {"A": {}}}, {"domain": "edge2", "streams": {"B": {}}})
    assert server is servers["hub"]
    assert domain_servers("edge1") == servers
    for domain, stream in (("edge1", "A"), ("edge2", "B")):
        with Wire.connected(servers[domain].port) as wire:
            assert JetStream(wire).info(stream)["config"]["name"] == stream


def test_what_is_no_document_is_refused_in_words(provisioned: Provisioned) -> None:
    with pytest.raises(DocumentError, match=r"document 2: streams\.A\.subject: is no field here"):
        provisioned({}, {"streams": {"A": {"subject": ["a"]}}})
    with pytest.raises(ConflictError, match="some documents name the domain hub and others none"):
        provisioned({"domain": "hub"}, {"streams": {"A": {}}})


def test_documents_are_found_beside_the_test(pytester: pytest.Pytester) -> None:
    pytester.mkdir("service")
    (pytester.path / "service" / "a.yaml").write_text("streams: {A: {}}")
    pytester.makepyfile(
        **{"service/test_it": "def test_it(provisioned):\n    assert provisioned('a.yaml').url"}
    )
    plugins = ("no:cacheprovider", "no:asyncio")
    flags = [word for plugin in plugins for word in ("-p", plugin)]
    pytester.runpytest_inprocess(*flags, "service").assert_outcomes(passed=1)
