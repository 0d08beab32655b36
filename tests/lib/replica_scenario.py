"""Random operations on a replicated stream and the same stream alone, and what happens to followers."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from lib.fake_clock import FakeClock
from lib.replicas import Alone, Member, MemoryLog, changed, consumer_config, contents, order
from pyjs.protocol import headers
from pyjs.protocol.errors import ApiError
from pyjs.protocol.timestamp import format_rfc3339
from pyjs.server.jetstream.replication import entry

SECOND = 1_000_000_000
START = 1_700_000_000_000_000_000
SUBJECTS = ("s.a", "s.b", "s.b", "s.c.d")
REST = SECOND // 5  # after it a consumer's changes are agreed on


def config(rng: Random) -> dict[str, Any]:
    """Return some configuration."""
    chosen: dict[str, Any] = {
        "retention": rng.choice(["limits", "limits", "interest", "workqueue"]),
        "max_msgs": rng.choice([0, 3, 8]),
        "max_bytes": rng.choice([0, 0, 400]),
        "max_msgs_per_subject": rng.choice([0, 0, 1, 3]),
        "discard": rng.choice(["old", "new"]),
        "max_age": rng.choice([0, 0, 3 * SECOND]),
        "duplicate_window": rng.choice([SECOND, 2 * SECOND]),
        "allow_rollup_hdrs": rng.random() < 0.7,
        "allow_msg_ttl": rng.random() < 0.6,
        "max_msg_size": rng.choice([-1, -1, 120]),
        "allow_atomic": True,
        "allow_batched": rng.random() < 0.5,
        "first_seq": rng.choice([0, 0, 0, 50]),
    }
    if chosen["max_age"]:
        chosen["duplicate_window"] = min(chosen["duplicate_window"], chosen["max_age"])
    if chosen["allow_msg_ttl"] and chosen["allow_rollup_hdrs"] and rng.random() < 0.5:
        chosen["subject_delete_marker_ttl"] = 2 * SECOND
    if rng.random() < 0.2:
        chosen["subject_transform"] = {"src": "s.*", "dest": "s.t.$1"}
    counts = chosen["retention"] == "limits" and chosen["discard"] == "old"
    if counts and not chosen["allow_msg_ttl"] and rng.random() < 0.5:
        chosen["allow_msg_counter"] = True
    if chosen["discard"] == "old" and "allow_msg_counter" not in chosen and rng.random() < 0.7:
        chosen["allow_msg_schedules"] = True
    if chosen["max_msgs_per_subject"] and chosen["discard"] == "new" and rng.random() < 0.5:
        chosen["discard_new_per_subject"] = True
    return chosen


def update(rng: Random) -> dict[str, Any]:
    """Return some change of it."""
    return rng.choice(
        [
            {"max_msgs": rng.choice([0, 2, 5])},
            {"max_age": rng.choice([0, 2 * SECOND]), "duplicate_window": SECOND},
            {"duplicate_window": rng.choice([SECOND // 2, SECOND, 2 * SECOND]), "max_age": 0},
            {"max_msgs_per_subject": rng.choice([0, 2])},
            {"discard": "old", "discard_new_per_subject": False},
            {"allow_msg_ttl": True},
            {"max_bytes": rng.choice([0, 300])},
        ]
    )


def header(rng: Random, last: int) -> bytes:
    """Return some header, or none."""
    if rng.random() < 0.4:
        return b""
    near = str(max(0, last - rng.choice([0, 0, 0, 1, 2])))
    options = {
        "Nats-Msg-Id": f"id{rng.randrange(12)}",
        "Nats-Expected-Last-Sequence": near,
        "Nats-Expected-Last-Subject-Sequence": near,
        "Nats-Expected-Last-Msg-Id": f"id{rng.randrange(12)}",
        "Nats-Expected-Stream": rng.choice(["S", "S", "T"]),
        "Nats-Rollup": rng.choice(["sub", "all", "none"]),
        "Nats-TTL": rng.choice(["1", "2", "2s", "never", "soon"]),
        "Nats-Incr": str(rng.randint(-9, 99)),
        "Other": "x",
    }
    weights = [8, 2, 1, 1, 1, 1, 3, 1, 2]
    names = rng.choices(list(options), weights, k=rng.choice([1, 1, 2, 3]))
    return headers.encode({name: options[name] for name in names})


def schedule(rng: Random) -> bytes:
    """Return the header of a schedule."""
    due = format_rfc3339(START + rng.randrange(6) * SECOND)
    given = {
        "Nats-Schedule": rng.choice([f"@at {due}", "@every 1s", "@every 3s", "*/2 * * * * *"]),
        "Nats-Schedule-Target": rng.choice(["s.a", "s.b", "s.target"]),
    }
    if rng.random() < 0.3:
        given["Nats-Schedule-Source"] = "s.c.d"
    if rng.random() < 0.2:
        given["Nats-Schedule-Rollup"] = "sub"
    return headers.encode(given)


def tail(block: bytes, body: bytes) -> bytes:
    """Return a publish's tail as it is on the wire."""
    return b"reply %d\r\n%b%b\r\n" % (len(block) + len(body), block, body)


class Play:
    """A leader (`members[0]` at first), followers, and, if `beside`, the same stream alone."""

    def __init__(self, seed: int, *, beside: bool) -> None:
        self.rng = Random(seed)
        chosen = config(self.rng)
        self.log = MemoryLog()
        # Their clocks differ, unless they are compared with a stream alone.
        skew = [0, 0, 0] if beside else [0, 2 * SECOND, -3 * SECOND]
        if beside and chosen["retention"] != "limits":
            chosen.pop("subject_delete_marker_ttl", None)  # whether it fits depends on the moment of an ack
        self.members = [Member(self.log, chosen, FakeClock(START + each)) for each in skew]
        self.alone = Alone(chosen) if beside else None
        self.tick(1)
        if self.alone is not None and chosen["first_seq"] > 1:
            self.alone.stream.store.skip_to(chosen["first_seq"] - 1)
        self.log.lead(self.members[0])
        self.consumers: dict[str, str] = {}
        self.published = self.copied = 0
        self.fast: dict[str, int] = {}  # places in fast batches

    @property
    def leader(self) -> Member:
        assert self.log.leader is not None
        return self.log.leader

    def tick(self, ns: int) -> None:
        """Advance time everywhere."""
        for member in self.members:
            member.clock.advance(ns)
        if self.alone is not None:
            self.alone.clock.advance(ns)

    # --- operations

    def publish(self) -> None:
        rng, last = self.rng, self.leader.stream.store.last_seq
        run: list[tuple[bytes, bytes, int, int, Any]] = []
        for _ in range(rng.choice([1, 1, 2, 5])):
            block, body = header(rng, last), b"%d" % rng.randrange(1000) * rng.choice([1, 5, 50])
            if self.leader.stream.config.allow_msg_counter and rng.random() < 0.8:
                block, body = headers.encode({"Nats-Incr": str(rng.randint(-9, 99))}), b""
            if self.leader.stream.config.allow_msg_schedules and rng.random() < 0.35:
                block = schedule(rng)
            same = rng.random() < 0.5 and run
            subject = run[-1][0] if same else rng.choice(SUBJECTS).encode()
            self.published += 1
            reply = rng.choice([b"ack.%d" % self.published, b"ack.%d" % self.published, b""])
            run.append((subject, reply, len(block), len(block) + len(body), tail(block, body)))
        self.leader.replica.proposals.receive_batch(list(run))
        if self.alone is not None:
            self.alone.stream.ingest.receive_batch(list(run))

    def publish_batch(self) -> None:
        rng, last, count = self.rng, self.leader.stream.store.last_seq, self.rng.choice([1, 2, 2, 4])
        self.published += 1
        run: list[tuple[bytes, bytes, int, int, Any]] = []
        for place in range(1, count + 1):
            block, body = header(rng, last), b"%d" % rng.randrange(1000)
            if self.leader.stream.config.allow_msg_counter:
                block, body = headers.encode({"Nats-Incr": str(rng.randint(-9, 99))}), b""
            block = headers.add(
                headers.add(block, b"Nats-Batch-Id", b"b"), b"Nats-Batch-Sequence", b"%d" % place
            )
            reply = b"ack.%d" % self.published if place == count else b""
            subject, size = rng.choice(SUBJECTS).encode(), len(block) + len(body)
            run.append((subject, reply, len(block), size, block + body + b"\r\n"))
        self.leader.replica.proposals.receive_whole(list(run))
        if self.alone is not None:
            self.alone.stream.ingest.receive_whole(list(run))

    def publish_fast(self) -> None:
        rng = self.rng
        batch = rng.choice("ab")
        run: list[tuple[bytes, bytes, int, int, Any]] = []
        for _ in range(rng.choice([1, 3, 6])):
            place = self.fast[batch] = self.fast.get(batch, 0) + rng.choice([1, 1, 1, 1, 1, 1, 1, 1, 1, 2])
            kind = 0 if place == 1 else rng.choice([1, 1, 1, 1, 1, 1, 1, 2, 3, 4])
            reply = f"ack.{batch}.2.{rng.choice(['ok', 'fail'])}.{place}.{kind}.$FI".encode()
            if kind in {2, 3} or rng.random() < 0.1:
                self.fast.pop(batch)
            block, body = header(rng, self.leader.stream.store.last_seq), b"fast %d" % place
            run.append((b"s.a", reply, len(block), len(block) + len(body), tail(block, body)))
        self.leader.replica.proposals.receive_batch(list(run))
        if self.alone is not None:
            self.alone.stream.ingest.receive_batch(list(run))

    def delete(self) -> None:
        stream = self.leader.stream
        seq = self.rng.randint(1, max(stream.store.last_seq, 1))
        erase = self.rng.random() < 0.5
        self._propose(entry.DeleteMsg(self.leader.replica.proposals.now(), seq, erase))
        if self.alone is not None:
            self._same(self.alone.stream.removal.delete_message(seq, erase=erase))

    def purge(self) -> None:
        rng, stream = self.rng, self.leader.stream
        subject = rng.choice(["", "", "s.a", "s.b", "s.>"])
        up_to = rng.choice([0, rng.randint(1, stream.store.last_seq + 3)])
        keep = 0 if up_to else rng.choice([0, 1, 3])
        self._propose(entry.Purge(self.leader.replica.proposals.now(), subject, up_to, keep))
        if self.alone is not None:
            self._same(self.alone.stream.removal.purge(subject=subject, up_to=up_to, keep=keep))

    def configure(self) -> None:
        try:
            wanted = changed(self.leader.stream.config, update(self.rng))
        except ApiError:
            return
        document = json.dumps(wanted.to_json()).encode()
        self._propose(entry.Configure(self.leader.replica.proposals.now(), document))
        if self.alone is not None:
            self.alone.stream.apply(wanted)
            self._same(True)

    def _propose(self, wanted: entry.Entry) -> None:
        self.got = order(self.leader, wanted)

    def _same(self, alone: Any) -> None:
        assert self.got == [alone]

    def add_consumer(self) -> None:
        rng = self.rng
        name = f"c{rng.randrange(3)}"
        if name in self.consumers:
            self.remove_consumer(name)
            return
        retention = self.leader.stream.config.retention
        work = retention == "workqueue"
        starts = ["all", "new", "last", "last_per_subject"]
        if self.alone is not None and retention == "interest":
            # Alone, a stream keeps until the next start what such a consumer never selected.
            starts = ["all", "new", "last"]
        pattern = {"c0": "s.a", "c1": "s.b", "c2": "s.c.>"}[name]
        wanted: dict[str, Any] = {
            "ack_policy": "explicit" if work else rng.choice(["explicit", "explicit", "all", "none"]),
            "ack_wait": rng.choice([SECOND, 30 * SECOND]),
            "filter_subject": pattern if work else rng.choice(["", pattern]),
            "deliver_policy": "all" if work else rng.choice(starts),
            "max_deliver": rng.choice([-1, 2]),
            "max_ack_pending": rng.choice([1000, 3]),
        }
        if wanted["deliver_policy"] == "last_per_subject" and not wanted["filter_subject"]:
            wanted["filter_subject"] = ">"
        self.consumers[name] = name
        self._add(name, wanted)

    def _add(self, name: str, wanted: dict[str, Any]) -> None:
        checked = consumer_config(self.leader.stream, name, wanted)
        document = json.dumps(checked.to_json()).encode()
        now = self.leader.replica.proposals.now()
        assert order(self.leader, entry.AddConsumer(now, now, name, document)) == [True]
        if self.alone is not None:
            self.alone.consumer(name, wanted)
        self.tick(REST)

    def remove_consumer(self, name: str) -> None:
        del self.consumers[name]
        assert order(self.leader, entry.RemoveConsumer(self.leader.replica.proposals.now(), name)) == [True]
        if self.alone is not None:
            self.alone.stream.consumers[name].delete()

    def consume(self) -> None:
        """Pull from a consumer, and acknowledge some of the messages."""
        if not self.consumers:
            return
        rng = self.rng
        name = rng.choice(sorted(self.consumers))
        count = rng.choice([1, 2, 5])
        says = [
            rng.choice([b"+ACK", b"+ACK", b"+ACK", b"", b"-NAK", b"+TERM", b"+WPI", None]) for _ in range(5)
        ]
        confirm = rng.random() < 0.3
        hosts = [self.leader, self.alone] if self.alone is not None else [self.leader]
        came = []
        for host in hosts:
            came.append(host.pull(name, count))
            for message, said in zip(came[-1], says, strict=False):
                if said is not None:
                    host.account.publish(message[1], said, reply="ack.c" if confirm else "", own=True)
        if self.alone is not None:
            assert came[0] == came[1], (came[0], came[1], name)
        self.tick(REST)

    def arrive(self) -> None:
        """Take copies from a source: some for the second time, in several entries, or in one."""
        rng = self.rng
        messages = []
        for _ in range(rng.choice([1, 3])):
            self.copied = max(0, self.copied + rng.choice([1, 1, 1, 0, -1]))
            block = headers.encode({"Nats-Stream-Source": f"O {self.copied}"})
            if rng.random() < 0.3:
                block = headers.set(block, b"Nats-Msg-Id", b"id%d" % rng.randrange(12))
            messages.append(("O > >", "first", self.copied, rng.choice(SUBJECTS), block, b"copy"))
        order(self.leader, entry.SourcedMsgs(self.leader.replica.proposals.now(), messages))

    def step(self) -> None:
        """Perform one operation."""
        self.rng.choices(
            [
                self.publish,
                self.publish_batch,
                self.publish_fast,
                self.delete,
                self.purge,
                self.configure,
                self.add_consumer,
                self.consume,
                lambda: self.tick(self.rng.choice([1, SECOND // 10, SECOND, 3 * SECOND])),
                self.arrive,
            ],
            [12, 3, 5, 2, 1, 1, 2, 6, 4, 0 if self.alone is not None else 3],
        )[0]()

    # --- followers

    def befall(self, *, transfer: bool = False) -> None:
        """Let something happen to a follower, or let another member lead."""
        rng, end = self.rng, len(self.log.entries)
        followers = [member for member in self.members if member is not self.leader]
        member = rng.choice(followers)
        what = rng.choices(["late", "current", "crash", "refill", "transfer"], [4, 3, 3, 1, 1])[0]
        if what == "late":
            member.catch_up(end, rng.randrange(6), lambda: rng.random() < 0.3)
        elif what == "current":
            member.catch_up(end)
        elif what == "crash":
            if rng.random() < 0.3:
                member.disk.cut_after(rng.randrange(8))
            member.crash_soon(lambda most: rng.randint(0, most))
        elif what == "refill":
            self.catch_up_from_leader(member)
        elif transfer:
            self.log.lead(member)

    def catch_up_from_leader(self, member: Member, most: int = 300) -> None:
        """Lose a follower's log: messages and state come from the leader, while that continues."""
        end = len(self.log.entries)
        member.go_on()
        if member.stream.index >= end:
            return
        member.replica.restore(self.leader.mark(end), end)
        while member.questions:
            question = member.questions.pop()
            member.replica.answered(self.leader.replica.answer(question[:-4] + most.to_bytes(4, "little")))
            if self.rng.random() < 0.3:
                self.publish()
        member.at = member.stream.index

    def finish(self) -> None:
        """Bring all followers up to date."""
        self.tick(REST)
        self.tick(REST)
        for member in self.members:
            member.catch_up(len(self.log.entries))

    def check(self) -> None:
        """Check that all replicas have the same content, which is also that of the stream alone."""
        wanted = self.leader.messages(), self.leader.encoded_state()
        for member in self.members:
            assert member.messages() == wanted[0]
            assert member.encoded_state() == wanted[1]
        if self.alone is not None:
            assert contents(self.alone.stream) == wanted[0]
            assert sorted(self.leader.answers) == sorted(self.alone.answers)
            for name in self.consumers:
                delivery_state = self.alone.stream.consumers[name].delivery_state
                state = self.leader.stream.states[name].state
                alone = delivery_state.state()
                assert (state.delivered, state.ack_floor) == (alone.delivered, alone.ack_floor)
                assert (state.pending, state.redelivered) == (alone.pending, alone.redelivered)
