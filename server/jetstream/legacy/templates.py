"""StreamTemplates: the stream templates of one account, which make streams when messages come.

The first message on a subject of a template makes a stream of that subject alone: its name is the subject
with `_` in place of `.`, and its configuration otherwise the template's. The message is the stream's first.

Promises:
- A template makes no more streams than its `max_streams`, and none that the account's limits do not allow.
- A name is checked as that of any stream, so nobody chooses a path by the subject of a message.
- No message is stored twice, and those of one subject keep their order. What waits for its stream is bounded
  (`PendingLimit`); what cannot wait or has no stream is refused, if it asked for an acknowledgement.
- A template is on the disk before it is confirmed, also one of streams in memory. It is removed after all of
  its streams; if that fails halfway, the template stays, with those that are left.
- What cannot be read is reported and left on the disk.

Source: nats-server's server/jetstream.go up to 2.9: addStreamTemplate, processInboundTemplateMsg, delete.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from ....protocol import gojson
from ....protocol.api.stream_template import TEMPLATE_OWNER, StreamTemplateConfig, StreamTemplateInfo
from ....protocol.errors import ApiError, api_error
from ....protocol.subject_tree import SubjectOwners, TooEntangled, indexing
from ...accounts.subscription import INTERNAL
from ...accounts.traced_message import FallbackSubscription
from ...clock import SECOND
from ...slices import Steps, at_once, paced
from ..account import changes
from ..account.pending_publishes import PendingLimit, PendingPublishes
from ..streams.stream_info import stamped
from ..streams.validation.config import checking
from ..streams.validation.subjects import checking_subjects
from .template import ServedTemplate, check_template, refused, stream_name

if TYPE_CHECKING:
    from ....protocol.api.stream import StreamConfig
    from ....store.configs import AccountDirectory, StoredConfig
    from ...accounts.subscription import Message
    from ..account.account import JetStreamAccount
    from ..consumers.core import Consumer
    from ..streams.core import Stream

MOST: Final = 256  # templates of an account
_AT_ONCE: Final = 128  # subscriptions in one step


class StreamTemplates:
    """The templates of one account of a server that stands alone.

    ready: whether it is known which templates there are.
    """

    def __init__(self, account: JetStreamAccount, directory: AccountDirectory) -> None:
        self.ready = False
        self._stopped = False
        self._account = account
        self._host = account.host
        self._directory = directory
        self._found: list[StoredConfig] = []
        self._unlisted = ""
        self._templates: dict[str, ServedTemplate] = {}
        self._damaged: dict[str, str] = {}
        self._owners = SubjectOwners()
        self._limit = PendingLimit()
        self._waiting: dict[str, tuple[str, PendingPublishes]] = {}  # by name: the subject, and its messages
        self._warned = -SECOND

    # --- start and stop

    def read(self) -> None:
        """Read what is on the disk. Blocks; may run in any thread, before `begin`."""
        try:
            self._found = self._directory.streams()
        except OSError as error:
            self._unlisted = str(error)

    def begin(self) -> Steps[None]:
        """Serve the templates that were read, in steps. The streams of the account must be known.

        If they cannot be listed, none are served, and none are made.
        """
        log = self._host.log
        if self._unlisted:
            log.error(
                f"Stream templates of account '{self._account.name}' cannot be listed: {self._unlisted}"
            )
            return
        made = yield from self._by_template()
        for stored in self._found:
            if self._stopped:
                return
            label = f"Stream template '{self._account.name} > {stored.name}'"
            config = self._config_of(stored)
            if config is None:
                log.error(f"{label} is offline: {self._damaged[stored.name]}")
                continue
            if stored.repaired:
                log.warning(f"{label}: {stored.repaired}: rewritten from the other file")
            template = ServedTemplate(config)
            template.streams.update(made.get(config.name, ()))
            yield from self._serving(template)
            yield
        self._found = []
        self.ready = not self._stopped

    def _config_of(self, stored: StoredConfig) -> StreamTemplateConfig | None:
        """Return the configuration on the disk; None if it cannot be read, then `_damaged` says why."""
        if stored.document is None:
            self._damaged[stored.name] = stored.damage
            return None
        try:
            return StreamTemplateConfig.from_json(stored.document)
        except ApiError as error:
            self._damaged[stored.name] = error.description
            return None

    def _by_template(self) -> Steps[dict[str, list[str]]]:
        """Return the streams by the template that made them, as their configurations say, in steps."""
        account = self._account
        known = [*account.recovering.values(), *(stream.config for stream in account.streams.values())]
        made: dict[str, list[str]] = {}
        for config in known:
            if owner := config.metadata.get(TEMPLATE_OWNER):
                made.setdefault(owner, []).append(config.name)
            yield
        return made

    def _serving(self, template: ServedTemplate) -> Steps[None]:
        self._templates[template.name] = template
        subjects = template.config.config.subjects
        self._owners.know(template.name, subjects)
        account = self._account.account
        account.sublist.fallbacks = True
        for start in range(0, len(subjects), _AT_ONCE):
            if start:
                yield
            if template.stopped or self._stopped:
                return
            for subject in subjects[start : start + _AT_ONCE]:
                subscription = FallbackSubscription(subject, INTERNAL)
                subscription.callback = partial(self._receive, template)
                account.add_subscription(subscription)
                template.subscriptions.append(subscription)

    def stop(self) -> None:
        """End the subscriptions. What waits for a stream is refused."""
        self._stopped = True
        self.forget_all()

    def forget_all(self) -> None:
        """Forget all templates; the caller removes their files, if they are to go."""
        for template in list(self._templates.values()):
            at_once(self._ending(template))
        for _, pending in self._waiting.values():
            pending.refuse(None)
        self._waiting.clear()
        self._damaged.clear()

    def _ending(self, template: ServedTemplate) -> Steps[None]:
        """Forget a template, and end its subscriptions, in steps."""
        template.stopped = True
        del self._templates[template.name]
        self._owners.follow((each.name, each.config.config.subjects) for each in self._templates.values())
        subscriptions, account = template.subscriptions, self._account.account
        if len(subscriptions) > _AT_ONCE:
            account.forget_plans()  # cheaper than to look up the plans of each subject
        while subscriptions:
            for _ in range(min(len(subscriptions), _AT_ONCE)):
                account.unsubscribe(subscriptions.pop())
            yield

    # --- what the API asks for

    def names(self) -> list[str]:
        """Return the names of all templates, sorted. Raises ApiError 10008 while they are not known."""
        self._must_be_ready()
        return sorted(self._templates)

    def info(self, name: str) -> StreamTemplateInfo:
        """Return a template and its streams. Raises ApiError 10068 if there is none."""
        template = self._lookup(name)
        self._prune(template)
        return StreamTemplateInfo(config=template.config, streams=sorted(template.streams))

    def creating(self, config: StreamTemplateConfig) -> Steps[StreamTemplateInfo]:
        """Make a template, in steps. Raises ApiError."""
        self._must_be_ready()
        check_template(config)
        name = config.name
        if name in self._templates:
            raise refused(f'template with name "{name}" already exists')
        if name in self._damaged:
            raise refused(f"template is offline: {self._damaged[name]}")
        if len(self._templates) >= MOST:
            raise refused("maximum number of stream templates reached")
        config.config = yield from self._checking(config)
        yield from self._overlapping(name, config.config.subjects)
        self._must_be_ready()  # the account may have been left meanwhile
        try:
            self._directory.write_stream(name, config.to_json())
        except OSError as error:
            raise refused(str(error)) from error
        template = ServedTemplate(config)
        yield from self._serving(template)
        return self.info(name)

    def _checking(self, config: StreamTemplateConfig) -> Steps[StreamConfig]:
        """Return the validated configuration of the streams, with its defaults. Raises ApiError."""
        account, named = self._account, config.config.replace(name="_")
        if not named.subjects:
            raise refused("a stream template requires subjects")
        subject_check = yield from checking_subjects(named)
        context = account.validation_context(named.num_replicas, subject_check=subject_check)
        found = yield from checking(stamped(named), context)
        if found.num_replicas > 1:
            raise api_error("JSStreamReplicasNotSupportedErr")
        return found.replace(name="")

    def _overlapping(self, name: str, subjects: list[str]) -> Steps[None]:
        """Raise ApiError if another template has some of the subjects."""
        try:
            tree = yield from indexing(subjects)
            overlap = yield from self._owners.overlapping(name, tree)
        except TooEntangled as error:
            raise refused(str(error)) from None
        if overlap:
            raise refused("subjects overlap with an existing stream template")

    def deleting(self, name: str) -> Steps[None]:
        """Remove a template and all streams that it made, in steps. Raises ApiError."""
        template = self._lookup(name)
        self._account.must_be_recovered()
        self._prune(template)
        template.stopped = True
        try:
            for stream in sorted(template.streams):
                yield from changes.deleting(self._account, stream)
                template.streams.discard(stream)
            self._directory.remove_stream(name)
        except OSError as error:
            raise api_error("JSStreamTemplateDeleteErrF", err=str(error)) from error
        finally:
            template.stopped = False
        if self._templates.get(name) is template:
            yield from self._ending(template)

    def _must_be_ready(self) -> None:
        if not self.ready or self._stopped:
            raise api_error("JSClusterNotAvailErr")

    def _lookup(self, name: str) -> ServedTemplate:
        self._must_be_ready()
        template = self._templates.get(name)
        if template is None:
            raise api_error("JSStreamTemplateNotFoundErr")
        return template

    def _prune(self, template: ServedTemplate) -> None:
        """Forget the streams that do not exist any more, or that somebody else made again."""
        for name in list(template.streams):
            if name in self._waiting or name in self._account.offline:
                continue
            config = self._account.config_of(name)
            if config is None or config.metadata.get(TEMPLATE_OWNER) != template.name:
                template.streams.discard(name)

    # --- messages

    def _receive(self, template: ServedTemplate, message: Message) -> None:
        """Make the stream of a message that no stream has taken."""
        subject = message.subject
        name = stream_name(subject)
        waiting = self._waiting.get(name)
        if waiting is not None and waiting[0] == subject:
            waiting[1].receive(message)
            return
        try:
            self._may_make(template, name)
            config = template.stream_config(subject)
        except ApiError as error:
            if message.reply and not template.sample.no_ack:
                answer = {"error": error.to_json(), "stream": "", "seq": 0}
                self._account.account.publish(message.reply, gojson.encode(answer))
            self._warn(subject, error)
        else:
            self._make(template, message, config)

    def _may_make(self, template: ServedTemplate, name: str) -> None:
        """Raise ApiError if the template must not make this stream."""
        account = self._account
        if template.stopped:
            raise api_error("JSStreamTemplateNotFoundErr")
        most = template.config.max_streams
        if len(template.streams) >= most and template.pruned != account.removals:
            template.pruned = account.removals
            self._prune(template)
        if len(template.streams) >= most:
            raise api_error("JSMaximumStreamsLimitErr")
        if name in self._waiting or account.config_of(name) is not None:
            raise api_error("JSStreamNameExistErr")  # it has another subject
        if self._host.queues.is_full(len(account.changes), "stream_create"):
            raise api_error("JSInsufficientResourcesErr")

    def _make(self, template: ServedTemplate, message: Message, config: StreamConfig) -> None:
        account, name, subject = self._account, config.name, message.subject
        pending = PendingPublishes(account.account, config, self._limit, account.log_error)
        pending.receive(message)
        template.streams.add(name)
        self._waiting[name] = subject, pending

        def making() -> Steps[Stream[Consumer]]:
            if template.stopped:
                raise api_error("JSStreamTemplateNotFoundErr")
            stream = yield from changes.creating(account, config, pending=pending)
            yield from pending.drain(stream.ingest.receive)  # nothing is left, unless it existed already
            return stream

        def made(_stream: Stream[Consumer]) -> None:
            self._waiting.pop(name, None)
            pending.hand_over()

        def failed(error: Exception) -> None:
            self._waiting.pop(name, None)
            template.streams.discard(name)
            if not isinstance(error, ApiError):
                error = api_error("JSStreamGeneralErrorF", err=str(error))
            pending.refuse_with(error)
            self._warn(subject, error)

        account.changes.add(paced(making()), made, failed)

    def _warn(self, subject: str, error: ApiError) -> None:
        """Log that a message has no stream, once a second."""
        now = self._host.clock.now()
        if now - self._warned >= SECOND:
            self._warned = now
            self._host.log.warning(
                f"JetStream could not create stream for account '{self._account.name}' on subject "
                f"{subject[:100]!r}: {error.description}"
            )
