"""Permissions: what a user may publish and receive.

Pure decisions about subjects. Caching, and the tracking of replies, belong to the connection. Entries of the
form "subject queue" in the subscribe lists apply to queue groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ...protocol.subject import ANY_REST, has_wildcard, is_subset
from ...protocol.subject_tree import SubjectTree
from ..config.options import PermissionsOptions, SubjectPermission

Entry = tuple[str, str]  # subject, queue ("" is none)
Lookup = SubjectTree[list[str]]  # the queues of the entries with a subject
# Patterns, each as its tokens: what is allowed, None for everything, and what is denied.
Rules = tuple[tuple[tuple[bytes, ...], ...] | None, tuple[tuple[bytes, ...], ...]]
_MOST_RULES = 32  # patterns that are compared with each subject


def _entries(subjects: Iterable[str] | None) -> tuple[Entry, ...] | None:
    if subjects is None:
        return None
    entries = []
    for text in subjects:
        subject, _, queue = text.strip().partition(" ")
        entries.append((subject, queue.strip()))
    return tuple(entries)


def _lookup(entries: tuple[Entry, ...]) -> Lookup:
    tree: Lookup = SubjectTree()
    for subject, queue in entries:
        tree.setdefault(".".join(_tokens(subject)), []).append(queue)
    return tree


def _tokens(subject: str) -> list[str]:
    """Return the tokens of a pattern. In a user's token `>` may be in the middle: it stands for the rest."""
    tokens = subject.split(".")
    if ANY_REST in tokens:
        del tokens[tokens.index(ANY_REST) + 1 :]
    return tokens


def _patterns(entries: tuple[Entry, ...]) -> tuple[tuple[bytes, ...], ...]:
    return tuple(
        tuple(token.encode("utf-8", "surrogateescape") for token in _tokens(subject))
        for subject, _ in entries
    )


class Permissions:
    """The publish and subscribe permissions of a user.

    publish_allow, subscribe_allow: None means everything that is not denied.
    responses: how many replies may be published to the reply subject of a received message, and within how
    many ns. A number that is not positive means no limit. None means that replies need the usual permission.
    """

    __slots__ = (
        "_publish_allow",
        "_publish_deny",
        "_subscribe_allow",
        "_subscribe_deny",
        "options",
        "publish_allow",
        "publish_deny",
        "responses",
        "subscribe_allow",
        "subscribe_deny",
    )

    def __init__(self, options: PermissionsOptions) -> None:
        self.options = options
        publish, subscribe = options.publish, options.subscribe
        self.publish_allow = _allow(publish)
        self.publish_deny = _deny(publish)
        self.subscribe_allow = _allow(subscribe)
        self.subscribe_deny = _deny(subscribe)
        self.responses: tuple[int, int] | None = None
        if options.allow_responses is not None:
            self.responses = (options.allow_responses.max_msgs, options.allow_responses.expires)
            if self.publish_allow is None:
                self.publish_allow = ()
        self._publish_allow = _lookup(self.publish_allow or ())
        self._publish_deny = _lookup(self.publish_deny)
        self._subscribe_allow = _lookup(self.subscribe_allow or ())
        self._subscribe_deny = _lookup(self.subscribe_deny)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Permissions) and self.options == other.options

    def __hash__(self) -> int:
        return hash(repr(self.options))

    def publish_rules(self) -> Rules | None:
        """Return the lists for publishing as patterns, None if they are too many to look at each."""
        allow = self.publish_allow
        if len(allow or ()) + len(self.publish_deny) > _MOST_RULES:
            return None
        return None if allow is None else _patterns(allow), _patterns(self.publish_deny)

    def may_publish(self, subject: str) -> bool:
        """Return whether the lists allow publishing to `subject`, apart from replies.

        A subject with an empty token matches no pattern.
        """
        if "" in subject.split("."):
            return self.publish_allow is None
        if self.publish_allow is not None and not self._publish_allow.covering(subject):
            return False
        return not self._publish_deny.covering(subject)

    def may_subscribe(self, subject: str, queue: str = "") -> bool:
        """Return whether a subscription to `subject`, with `queue`, is allowed.

        If the allow list has queues for the subject, they alone decide about a queue. A queue that the deny
        list has for the subject is denied.
        """
        if self.subscribe_allow is not None:
            plain, queues = _found(self._subscribe_allow.covering(subject))
            allowed = _in_queues(queue, queues) if queue and queues else plain
            if not allowed:
                return False
        # A pattern is denied like a literal subject here: a deny of "no.*" covers "no.>" too, which is wider.
        plain, queues = _found(self._subscribe_deny.matching(subject))
        return not plain and not (queue and _in_queues(queue, queues))

    def needs_filter(self, subject: str, queue: str = "") -> bool:
        """Return whether a permitted subscription receives some messages that are denied."""
        if not queue and not has_wildcard(subject):
            return False
        return next(self._subscribe_deny.colliding(subject), None) is not None

    def may_receive(self, subject: str, queue: str) -> bool:
        """Return whether a message with the literal `subject` passes the deny list on delivery."""
        plain, queues = _found(self._subscribe_deny.matching(subject))
        return not plain and not (queue and _in_queues(queue, queues))


def without_publish(permissions: Permissions | None, subject: str) -> Permissions:
    """Return the permissions without the right to publish to `subject`."""
    options = PermissionsOptions() if permissions is None else permissions.options
    publish = options.publish or SubjectPermission()
    deny = [*(publish.deny or ()), subject]
    return Permissions(replace(options, publish=replace(publish, deny=deny)))


def _allow(side: SubjectPermission | None) -> tuple[Entry, ...] | None:
    return None if side is None else _entries(side.allow)


def _deny(side: SubjectPermission | None) -> tuple[Entry, ...]:
    return () if side is None else _entries(side.deny) or ()


def _found(entries: list[list[str]]) -> tuple[bool, list[str]]:
    """Return whether an entry has no queue, and the queues of the others."""
    queues = [queue for each in entries for queue in each]
    return "" in queues, [queue for queue in queues if queue]


def _in_queues(queue: str, queues: list[str]) -> bool:
    return any(queue == name or is_subset(queue, name) for name in queues)
