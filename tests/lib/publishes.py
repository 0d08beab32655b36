"""Strategies: what clients send and streams keep, mostly as applications make it, else spoilt anywhere."""

from __future__ import annotations

from array import array

from hypothesis import strategies as st

Scan = tuple[bytes, int, int, int, int, tuple[bytes, bytes]]  # the arguments of a scan but the last one
VERBS = ((b"PUB ", b"HPUB "), (b"PUB ", b""), (b"", b"HMSG "), (b"LMSG ", b"HMSG "), (b"RMSG A ", b"HMSG A "))
names = st.binary(min_size=1, max_size=8).filter(
    lambda name: not set(name) & set(b" \t\r\n")
) | st.sampled_from(
    [
        b"a",
        b"5",
        b"12",
        b"+",
        b"|",
        b"i.1",
        b"i.end",
        b"i.lit",
        b"i.seen",
        b"j.1",
        b".x",
        b"m.1",
        b"m.2",
        b"l.a.1",
        b"l.a.2",
        b"$JS.ACK.a@b",
        b"$JS.ACK.a",
        b"$JS.ACK",
        b"_GR_.a",
        b"_GR_a",
        b"_R_",
        b"_G",
        b"$JS",
    ]
)
sizes = st.sampled_from(
    [b"0", b"1", b"3", b"03", b"000000005", b"0000000005", b"-1", b"x", b"", b"999999999"]
)
bodies = st.binary(max_size=6) | st.sampled_from([b"\r\n", b"PUB a 1\r\nx\r\n", b"NATS/1.0\r\n\r\n"])


@st.composite
def frames(draw: st.DrawFn, verbs: tuple[bytes, bytes]) -> bytes:
    """One frame, mostly a whole publish; else with another size, verb, blank or end."""
    with_header = draw(st.booleans())
    body, header = draw(bodies), draw(bodies) if with_header else b""
    numbers = [b"%d" % len(header)] * with_header + [b"%d" % len(header + body)]
    if draw(st.integers(0, 9)) == 0:
        numbers = [draw(sizes) for _ in numbers]
    fields = [draw(names) for _ in range(draw(st.sampled_from([1, 1, 2, 2, 2, 0, 3])))] + numbers
    if draw(st.integers(0, 4)) == 0:
        groups = draw(st.lists(st.sampled_from([b"a", b"b", b"none", b"5", b"+"]), max_size=10))
        fields[1:1] = draw(st.sampled_from([[b"|"], [b"+", b"r"]])) + groups
    blank, end = b" ", b"\r\n"
    if draw(st.integers(0, 9)) == 0:
        blank, end = (
            draw(st.sampled_from([b"  ", b"\t", b" "])),
            draw(st.sampled_from([b"\n", b" \r\n", b"\r\r\n"])),
        )
    return verbs[with_header] + blank.join(fields) + end + header + body + b"\r\n"


@st.composite
def scans(draw: st.DrawFn) -> Scan:
    """The arguments of a scan but its list: bytes that look like publishes, whole, cut or spoilt anywhere."""
    verbs = draw(st.sampled_from(VERBS))
    data = b"".join(
        draw(st.lists(frames(verbs) | st.sampled_from([b"PING\r\n", b"pub a 0\r\n\r\n"]), max_size=5))
    )
    if data and draw(st.booleans()):
        place = draw(st.integers(0, len(data) - 1))
        kept = draw(st.integers(0, 1))
        data = data[:place] + draw(st.binary(max_size=2)) + data[place + kept :]
    data = data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data
    pos = draw(st.integers(0, len(data))) if draw(st.integers(0, 4)) == 0 else 0
    limits = draw(st.sampled_from([(4096, 1 << 20), (10, 1 << 20), (4096, 3), (4, 0)]))
    return (data, pos, draw(st.sampled_from([512, 512, 1, 0])), *limits, verbs)


texts = st.text(max_size=6) | names.map(lambda name: name.decode("utf-8", "surrogateescape"))
texts = texts.filter(
    lambda text: not any("\ud800" <= char < "\udc80" or "\udd00" <= char < "\ue000" for char in text)
)
messages = st.lists(st.tuples(texts, st.sampled_from([b"", b"NATS/1.0\r\n\r\n"]), bodies), max_size=6)
clocks = st.sampled_from([0, 1, -1, 1_700_000_000_000_000_000])


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[tuple[str, bytes, bytes]], array[int], array[int]]:
    """Messages to store, with the sequence and the time of each."""
    stored, last = draw(messages), draw(st.sampled_from([0, 1 << 40]))
    seqs = array("Q")
    for _ in stored:
        last += draw(st.sampled_from([1, 1, 1, 9]))
        seqs.append(last)
    return stored, seqs, array("q", [draw(clocks) for _ in stored])
