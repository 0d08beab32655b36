"""The drawings of a topology hold whatever names there are."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from pyjs.plugins.server import topology_drawings as drawings
from pyjs.plugins.server.topology import domain_of
from pyjs.plugins.server.topology_model import CopyLink, StreamAsset, Topology, TopologyServer

EVIL = 'a"]<script>&#x1b;\x1b[2J end\n|;'


def topology(name: str = "ORDERS") -> Topology:
    """Two domains with a leaf connection, a stream and three copies of it."""
    found = Topology(
        servers=[
            TopologyServer("h1", "hub", "hub", True),
            TopologyServer("h2", "hub", "hub", True),
            TopologyServer(name, "", "edge", True),
        ],
        leafs={(name, "h1"): {"APP", "SYS"}},
        gateways={("east", "hub")},
    )
    for domain, stream in (("edge", name), ("hub", "COPY"), ("hub", "ALL")):
        found.by_name[domain, "APP", stream] = StreamAsset(domain, "APP", stream, 1234, "h1", ["h1", "h2"])
    found.copies = [
        CopyLink("mirror", "APP", "edge", name, "hub", "COPY"),
        CopyLink("source", "APP", "hub", "COPY", "hub", "ALL"),
        CopyLink("source", "APP", "", name, "hub", "ALL", "JS.acc@hub.API"),
    ]
    return found


def test_the_text_names_domains_clusters_streams_and_links() -> None:
    assert (
        drawings.text(topology())
        == """\
Domain edge
  Servers: ORDERS
  Stream ORDERS of APP: 1,234 messages on h1*, h2

Domain hub
  Cluster hub: h1, h2
  Stream ALL of APP: 1,234 messages on h1*, h2
    source of COPY
    source of ORDERS behind JS.acc@hub.API
  Stream COPY of APP: 1,234 messages on h1*, h2
    mirror of ORDERS in domain edge

Leaf connections
  ORDERS → h1  (APP, SYS)

Gateways
  east ↔ hub"""
    )


@pytest.mark.parametrize("width", [40, 80, 100])
def test_the_text_breaks_lines_between_names_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr("pyjs.cli.output.terminal.width", lambda: width)
    names = [f"nats-production-{side}-of-the-company-{n}" for side in ("east", "west") for n in (1, 2)]
    found = Topology([TopologyServer(name, "all", "", True) for name in names])
    found.by_name["", "APP", "S"] = StreamAsset("", "APP", "S", 7, names[0], names)
    lines = drawings.text(found).splitlines()
    assert max(map(len, lines)) <= width
    shown = re.findall(r"\S*…[^\s,*]*", "\n".join(lines))
    assert len(set(shown)) == 4 and shown[:4] == shown[4:]


@pytest.mark.parametrize("name", ["ORDERS", EVIL])
def test_a_picture_is_well_formed_and_complete(name: str) -> None:
    root = ElementTree.fromstring(drawings.svg(topology(name)))
    kinds = [each.tag.rpartition("}")[2] for each in root.iter()]
    assert kinds.count("rect") == 2
    assert kinds.count("path") == 1 + 1 + 2  # the arrow head, the leaf, the copies whose origin is known
    assert "script" not in kinds
    shown = "".join(root.itertext())
    assert "COPY: 1,234 messages" in shown and "\x1b" not in shown


@pytest.mark.parametrize("name", ["ORDERS", EVIL])
def test_a_flowchart_has_every_node_once(name: str) -> None:
    lines = drawings.mermaid(topology(name)).splitlines()
    declared = [match[1] for line in lines if (match := re.match(r"\s+(n\d+)\[", line))]
    assert len(declared) == len(set(declared)) == 3 + 3 + 1
    arrows = [line for line in lines if "-->" in line or ".->" in line]
    kinds = [kind for line in arrows for kind in re.findall(r"\|(\w+)\|", line)]
    assert kinds == ["leaf", "gateway", "mirror", "source", "source"]
    assert lines.count("  end") == 2 and lines.count("    end") == 1
    labels = re.findall(r'\["(.*?)"\]', "\n".join(lines))
    assert not any(mark in label for label in labels for mark in ('"', "<s", "\x1b"))


def test_nothing_there_is_drawn_too() -> None:
    for draw in drawings.FORMS.values():
        assert isinstance(draw(Topology()), str)


@pytest.mark.parametrize(
    ("prefix", "domain"),
    [("$JS.hub.API", "hub"), ("$JS.API", ""), ("JS.acc@hub.API", ""), ("$JS.a.b.API", "")],
)
def test_a_domain_is_told_from_its_prefix(prefix: str, domain: str) -> None:
    assert domain_of(prefix) == domain
