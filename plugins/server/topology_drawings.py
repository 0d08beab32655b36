"""The drawings of a topology: as text, as a Mermaid flowchart, and as an SVG picture.

Promises: names from elsewhere are escaped, whatever they contain. An SVG is complete in itself, and has
colours that read on a light and on a dark page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from itertools import groupby

from ...cli.output import folding, terminal
from ...cli.output.cells import clean, shortened_cells, width_of
from ...cli.output.columns import MIDDLE
from .topology_model import CopyLink, StreamAsset, Topology, TopologyServer

SHORT = 20  # columns of a server's name in a terminal, where it has to be shortened
BOX, GAP, LINE, LETTER = 14, 28, 18, 7.9  # SVG: padding, space between boxes, height of a line, of a letter
NONE = "no JetStream domain"
ARROW = (
    '<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0L8 4L0 8" stroke="#888"/></marker></defs>'
)


def text(found: Topology) -> str:
    """Return the domains with their clusters, servers and streams, then the links.

    In a terminal, names of servers are shortened where a line would be too long (those without a name of
    their own are called by their ids), and what is still too long is broken between names.
    """
    whole = _lines(found, str)
    limit = terminal.width()
    if limit is None or all(width_of(each) <= limit for each in whole):
        return "\n".join(whole)
    names = sorted(_server_names(found))
    short = dict(zip(names, shortened_cells(names, SHORT, MIDDLE), strict=True))
    return folding.output("\n".join(_lines(found, short.__getitem__)), limit, whole=True)


def _server_names(found: Topology) -> set[str]:
    """Return what the servers are called in the text: those that answered, and those they tell of."""
    told = [name for stream in found.streams for name in stream.servers]
    return {each.name for each in found.servers}.union(told, *found.leafs)


def _lines(found: Topology, called: Callable[[str], str]) -> list[str]:
    """Return the lines of the text; called: makes what a server is called of its name."""
    lines: list[str] = []
    for domain, members in _domains(found):
        lines += [f"Domain {domain}" if domain else f"Servers with {NONE}"]
        for cluster, inside in groupby(members, key=lambda each: each.cluster):
            names = ", ".join(_described(each, called) for each in inside)
            lines.append(f"  Cluster {cluster}: {names}" if cluster else f"  Servers: {names}")
        for stream in (each for each in found.streams if each.domain == domain):
            lines.append(f"  Stream {stream.name} of {stream.account}: {_holders(stream, called)}")
            lines += [f"    {_copied(each)}" for each in found.copies if _is_into(each, stream)]
        lines.append("")
    if found.leafs:
        lines.append("Leaf connections")
        for (spoke, hub), accounts in sorted(found.leafs.items()):
            lines.append(f"  {called(spoke)} → {called(hub)}  ({', '.join(sorted(accounts))})")
        lines.append("")
    if found.gateways:
        lines.append("Gateways")
        lines += [f"  {first} ↔ {second}" for first, second in sorted(found.gateways)]
        lines.append("")
    while lines and not lines[-1]:
        lines.pop()
    return [clean(each) for each in lines]


def _domains(found: Topology) -> list[tuple[str, list[TopologyServer]]]:
    ordered = sorted(found.servers, key=lambda each: (each.domain, each.cluster, each.name))
    return [(domain, list(inside)) for domain, inside in groupby(ordered, key=lambda each: each.domain)]


def _described(server: TopologyServer, called: Callable[[str], str]) -> str:
    return called(server.name) + ("" if server.jetstream else " (no JetStream)")


def _holders(stream: StreamAsset, called: Callable[[str], str] = str) -> str:
    leader = stream.leader if len(stream.servers) > 1 else ""
    names = [called(name) + "*" * (name == leader) for name in stream.servers]
    return f"{stream.messages:,} messages on {', '.join(sorted(names))}"


def _is_into(copy: CopyLink, stream: StreamAsset) -> bool:
    return (copy.domain, copy.account, copy.target) == (stream.domain, stream.account, stream.name)


def _copied(copy: CopyLink) -> str:
    if copy.prefix:
        return f"{copy.kind} of {copy.origin} behind {copy.prefix}"
    away = f" in domain {copy.origin_domain}" if copy.origin_domain != copy.domain else ""
    return f"{copy.kind} of {copy.origin}{away}"


class _Nodes:
    """Names for the nodes of a flowchart: the same thing has the same one."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], str] = {}

    def of(self, *key: str) -> str:
        """Return the name of a thing."""
        return self._known.setdefault(key, f"n{len(self._known)}")


def mermaid(found: Topology) -> str:
    """Return a flowchart: domains are boxes around clusters and streams, links and copies are arrows."""
    nodes, lines = _Nodes(), ["flowchart LR"]
    for domain, members in _domains(found):
        lines.append(f'  subgraph {nodes.of("domain", domain)}["{_quoted(domain or NONE)}"]')
        for cluster, inside in groupby(members, key=lambda each: each.cluster):
            if cluster:
                lines.append(f'    subgraph {nodes.of("cluster", cluster)}["cluster {_quoted(cluster)}"]')
            lines += [f'      {nodes.of("server", each.name)}["{_quoted(each.name)}"]' for each in inside]
            lines += ["    end"] if cluster else []
        for stream in (each for each in found.streams if each.domain == domain):
            label = f"{_quoted(stream.name)}<br/>{stream.messages:,} messages"
            lines.append(f'    {nodes.of("stream", domain, stream.account, stream.name)}[("{label}")]')
        lines.append("  end")
    for spoke, hub in sorted(found.leafs):
        lines.append(f"  {nodes.of('server', spoke)} -->|leaf| {nodes.of('server', hub)}")
    for first, second in sorted(found.gateways):
        lines.append(f"  {nodes.of('cluster', first)} <-->|gateway| {nodes.of('cluster', second)}")
    for copy in found.copies:
        origin = nodes.of("stream", copy.origin_domain or copy.prefix, copy.account, copy.origin)
        target = nodes.of("stream", copy.domain, copy.account, copy.target)
        if copy.prefix:
            lines.append(f'  {origin}[("{_quoted(copy.origin)}<br/>{_quoted(copy.prefix)}")]')
        lines.append(f"  {origin} -.->|{copy.kind}| {target}")
    return "\n".join(lines)


def _quoted(label: str) -> str:
    """Return a label as Mermaid has it between quotes."""
    return clean(label).replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")


def svg(found: Topology) -> str:
    """Return a picture: a box for each domain with its clusters and streams, and lines between them."""
    boxes: list[str] = []
    anchors: dict[tuple[str, str], tuple[float, float, float]] = {}  # what: left, right, middle
    left = bottom = float(GAP)
    for domain, members in _domains(found):
        lines = _box_lines(found, domain, members)
        width = max(len(label) for _, label in lines) * LETTER + 2 * BOX
        height = len(lines) * LINE + 2 * BOX
        boxes.append(
            f'<rect class="box" x="{left:.0f}" y="{GAP}" width="{width:.0f}" height="{height}" rx="8"/>'
        )
        for number, (key, label) in enumerate(lines):
            middle = GAP + BOX + (number + 0.5) * LINE
            name = "title" if number == 0 else "line"
            boxes.append(_label(left + BOX, middle, label, name))
            if key is not None:
                anchors[key] = (left, left + width, middle)
        left += width + 6 * GAP
        bottom = max(bottom, GAP + height)
    arrows = [*_leaf_arrows(found, anchors), *_copy_arrows(found, anchors)]
    size = f"{max(left - 5 * GAP, 2 * GAP):.0f} {bottom + GAP:.0f}"
    style = (
        "text{font:13px monospace;fill:#4682b4}.title{font-weight:bold}.box{fill:none;stroke:#4682b4}"
        ".leaf{stroke:#2e8b57}.copy{stroke:#cd853f;stroke-dasharray:5 3}path{fill:none;stroke-width:1.5}"
    )
    body = "\n".join([*boxes, *arrows])
    start = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}">'
    return f"{start}<style>{style}</style>{ARROW}\n{body}\n</svg>"


def _box_lines(
    found: Topology, domain: str, members: Iterable[TopologyServer]
) -> list[tuple[tuple[str, str] | None, str]]:
    lines: list[tuple[tuple[str, str] | None, str]] = [(None, f"Domain {domain}" if domain else NONE)]
    for cluster, inside in groupby(members, key=lambda each: each.cluster):
        lines += [(None, f"cluster {cluster}")] if cluster else []
        lines += [(("server", each.name), f"  {each.name}") for each in inside]
    for stream in (each for each in found.streams if each.domain == domain):
        label = f"{stream.name}: {stream.messages:,} messages"
        lines.append(((f"stream {domain}", stream.name), label))
    return lines


def _label(x: float, y: float, label: str, name: str) -> str:
    indent = len(label) - len(label.lstrip())
    shown = escape(clean(label.strip()))
    return f'<text class="{name}" x="{x + indent * LETTER:.0f}" y="{y + 4:.0f}">{shown}</text>'


def _leaf_arrows(found: Topology, anchors: dict[tuple[str, str], tuple[float, float, float]]) -> list[str]:
    links = [(("server", spoke), ("server", hub)) for spoke, hub in sorted(found.leafs)]
    return [_arrow(anchors[a], anchors[b], "leaf") for a, b in links if a in anchors and b in anchors]


def _copy_arrows(found: Topology, anchors: dict[tuple[str, str], tuple[float, float, float]]) -> list[str]:
    links = [
        ((f"stream {each.origin_domain}", each.origin), (f"stream {each.domain}", each.target))
        for each in found.copies
    ]
    return [_arrow(anchors[a], anchors[b], "copy") for a, b in links if a in anchors and b in anchors]


def _arrow(start: tuple[float, float, float], end: tuple[float, float, float], name: str) -> str:
    """Return a curve between two lines of boxes, from the sides that face each other."""
    if start[0] == end[0]:  # in the same box: round its right side
        x, bend = start[1], start[1] + 2 * GAP
        path = (
            f"M{x:.0f} {start[2]:.0f}C{bend:.0f} {start[2]:.0f} {bend:.0f} {end[2]:.0f} {x:.0f} {end[2]:.0f}"
        )
    else:
        x, y = (start[1], end[0]) if start[0] < end[0] else (start[0], end[1])
        half = (x + y) / 2
        path = (
            f"M{x:.0f} {start[2]:.0f}C{half:.0f} {start[2]:.0f} {half:.0f} {end[2]:.0f} {y:.0f} {end[2]:.0f}"
        )
    return f'<path class="{name}" marker-end="url(#a)" d="{path}"/>'


FORMS: dict[str, Callable[[Topology], str]] = {"text": text, "mermaid": mermaid, "svg": svg}
