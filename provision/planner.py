"""Making plans: what is declared compared with what is there. Nothing is done here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from ..protocol.api.consumer import ConsumerConfig
from ..protocol.api.stream import StreamConfig
from . import order, overlaps
from .comparison import Change, changes, consumer_losses, filter_losses, stream_losses, unchangeable
from .declared import (
    CONSUMER,
    OWNER,
    Declaration,
    Declared,
    DeclaredConsumer,
    DeclaredStream,
    Id,
    bucket_kind,
    usual_stream,
)
from .defaults import consumer_defaults, normal_consumer, normal_stream, stream_defaults
from .errors import ConflictError
from .missing_origins import missing_origins
from .observed_state import ObservedState, ObservedStream
from .plan import Action, ChangePlan, Verb, every


def make(declared: Declared, observed: ObservedState, now: int, *, prune: str = "") -> ChangePlan:
    """Return what has to be done.

    observed: has the streams that are declared, those that consumers are declared on, and what the owner has.
    now: nanoseconds since the epoch.
    prune: the owner whose things are deleted where no document declares them; empty: nothing is deleted.

    Raises ConflictError if something declared belongs to another owner, if a consumer's stream is missing, if
    two streams would store the same subject, or if the dependencies form a circle.
    """
    return _Planner(declared, observed, now, prune).plan()


class _Planner:
    def __init__(self, declared: Declared, observed: ObservedState, now: int, prune: str) -> None:
        self.declared = declared
        self.observed = observed
        self.now = now
        self.prune = prune
        self.used = {each._replace(consumer="") for each in declared.consumers}
        self.full: dict[Id, StreamConfig] = {}  # declared streams with their defaults

    def plan(self) -> ChangePlan:
        self._check_owners()
        for id, each in self.declared.streams.items():  # noqa: A001 - the word for it
            beside = partial(self._beside, id.domain)
            self.full[id] = stream_defaults(each.config, beside)
        streams = [self._stream(each) for each in self.declared.streams.values()]
        replaced = {each.id for each in streams if each.verb in (Verb.REPLACE, Verb.CREATE)}
        consumers = [self._consumer(each, replaced) for each in self.declared.consumers.values()]
        deletions = list(self._deletions(replaced))
        gone = {each.id for each in deletions}
        overlaps.refuse(self.full, self.observed, gone)
        overlaps.refuse_consumers(self._workers(gone | replaced))
        actions = order.ordered([*streams, *consumers, *deletions], self.observed, self.full)
        return ChangePlan(tuple(actions), tuple(missing_origins(self.declared, self.observed, gone)))

    def _workers(self, gone: set[Id]) -> dict[Id, ConsumerConfig]:
        """Return the consumers that work queues will have, of the streams with declared ones.

        gone: streams and consumers that will not be there, or not as they are.
        """
        found: dict[Id, ConsumerConfig] = {}
        for stream in self.used:
            config = self._config_of(stream)
            if config is None or config.retention != "workqueue":
                continue
            there = self.observed.stream(stream)
            if there is not None and stream not in gone:
                own = {stream._replace(consumer=name): each.config for name, each in there.consumers.items()}
                found |= {id: each for id, each in own.items() if id not in gone}  # noqa: A001
        declared = {each.id: each.config for each in self.declared.consumers.values()}
        streams = {id: self._config_of(id._replace(consumer="")) for id in declared}  # noqa: A001
        for id, config in streams.items():  # noqa: A001
            if config is not None and config.retention == "workqueue":
                found[id] = declared[id]
        return found

    def _check_owners(self) -> None:
        others = []
        for each in self.declared:
            found = self.observed.consumer(each.id) if each.id.consumer else self.observed.stream(each.id)
            if found is not None and each.owner and found.owner not in ("", each.owner):
                others.append(f"{each.id} belongs to {found.owner}, not to {each.owner}")
        if others:
            raise ConflictError("the documents change what others own", others)

    def _beside(self, domain: str, name: str) -> StreamConfig | None:
        return self._config_of(Id(domain, name))

    def _config_of(self, id: Id) -> StreamConfig | None:  # noqa: A002
        """Return the configuration that a stream will have, as far as it is given; None if there is none."""
        declared, found = self.declared.streams.get(id), self.observed.stream(id)
        if declared is not None:
            return declared.config
        return None if found is None else found.config

    def _stream(self, declared: DeclaredStream) -> Action:
        found = self.observed.stream(declared.id)
        new = normal_stream(self.full[declared.id])
        if found is None:
            usual = normal_stream(stream_defaults(usual_stream(declared), lambda _: None))
            settings = _settings(changes(declared.kind, usual, new, declared.owner))
            return Action(declared.id, declared.kind, Verb.CREATE, declared.config, settings)
        old = normal_stream(found.config)
        differing = changes(declared.kind, old, new, declared.owner)
        fixed = tuple(unchangeable(declared.kind, old, new))
        losses = self._all_of(found) if fixed else stream_losses(found, new, self.now)
        return self._action(declared, differing, fixed, tuple(losses))

    def _all_of(self, found: ObservedStream) -> Iterator[str]:
        """Yield what is lost with a stream. The place of a consumer at the end of an empty one is nothing."""
        if found.state.messages:
            yield every(found.state.messages)
        for name, each in found.consumers.items():
            if not (found.state.messages or each.pending or each.unacknowledged):
                continue
            yield f"the consumer {name}: {next(consumer_losses(each, ''))}"

    def _consumer(self, declared: DeclaredConsumer, replaced: set[Id]) -> Action:
        stream_id = declared.id._replace(consumer="")
        stream = self.full.get(stream_id) or self._config_of(stream_id)
        if stream is None:
            raise ConflictError(
                f"{declared.id}: there is no stream {declared.id.stream}, and none is declared"
            )
        found = self.observed.consumer(declared.id)
        bound = self.observed.domains[declared.id.domain].max_ack_pending
        new = normal_consumer(consumer_defaults(declared.config, stream, bound))
        if found is None or stream_id in replaced:
            # What follows from the policy of acknowledgements is no setting of its own.
            bare = ConsumerConfig(ack_policy=declared.config.ack_policy)
            usual = normal_consumer(consumer_defaults(bare, stream, bound))
            usual["ack_policy"] = ConsumerConfig().ack_policy
            settings = _settings(changes(CONSUMER, usual, new, declared.owner))
            return Action(declared.id, CONSUMER, Verb.CREATE, declared.config, settings)
        old = normal_consumer(found.config)
        differing = changes(CONSUMER, old, new, declared.owner)
        fixed = tuple(unchangeable(CONSUMER, old, new))
        kept = stream.retention
        lost = consumer_losses(found, kept) if fixed else filter_losses(found, kept, new)
        return self._action(declared, differing, fixed, tuple(lost))

    def _action(
        self,
        declared: Declaration,
        differing: tuple[Change, ...],
        fixed: tuple[str, ...],
        losses: tuple[str, ...],
    ) -> Action:
        verb = Verb.REPLACE if fixed else Verb.CHANGE if differing else Verb.NOTHING
        return Action(
            declared.id,
            declared.kind,
            verb,
            self._kept(declared),
            differing,
            fixed,
            losses,
            self.observed.fingerprint(declared.id),
        )

    def _kept(self, declared: Declaration) -> StreamConfig | ConsumerConfig:
        """Return the configuration to send: the mark of an owner that is there stays."""
        found = (
            self.observed.consumer(declared.id) if declared.id.consumer else self.observed.stream(declared.id)
        )
        config: StreamConfig | ConsumerConfig = declared.config
        if found is None or not found.owner or declared.owner:
            return config
        return config.replace(metadata={OWNER: found.owner, **config.metadata})

    def _deletions(self, replaced: set[Id]) -> Iterator[Action]:
        """Yield a deletion for what the owner has and no document declares.

        The consumers of a stream go with it, also if it is replaced.
        """
        if not self.prune:
            return
        for domain in self.declared.domains:
            for name, stream in self.observed.domains[domain].streams.items():
                id = Id(domain, name)  # noqa: A001
                if id in replaced:
                    continue
                if stream.owner == self.prune and id not in self.declared.streams:
                    self._check_unused(id)
                    kind, _ = bucket_kind(stream.config)
                    yield self._deletion(id, kind, tuple(self._all_of(stream)))
                    continue
                for consumer, facts in stream.consumers.items():
                    own = id._replace(consumer=consumer)
                    if facts.owner == self.prune and own not in self.declared.consumers:
                        losses = tuple(consumer_losses(facts, stream.config.retention))
                        yield self._deletion(own, CONSUMER, losses)

    def _check_unused(self, id: Id) -> None:  # noqa: A002
        if id in self.used:
            raise ConflictError(f"consumers of {id} are declared, but not the stream, which would be pruned")

    def _deletion(self, id: Id, kind: str, losses: tuple[str, ...]) -> Action:  # noqa: A002
        return Action(id, kind, Verb.DELETE, losses=losses, fingerprint=self.observed.fingerprint(id))


def _settings(differing: tuple[Change, ...]) -> tuple[Change, ...]:
    """Return what something new is given, from what it has beside the usual."""
    return tuple(replace(each, old=None) for each in differing if each.new)
