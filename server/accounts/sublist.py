"""The interest of one account: which subscriptions a literal subject finds.

Literal subjects live in a dict, patterns in a subject tree. Promises: a match costs the tokens of the
subject times the patterns that share them, never the number of subscriptions; order within a subject is that
of insertion. Never caches (plans do) and never looks into a subscription beyond `subject` and `queue`, and
`sink` while some are leaving.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...protocol.subject import has_wildcard
from ...protocol.subject_tree import SubjectTree
from .subscription import Subscription

if TYPE_CHECKING:
    from .subscription import MessageEndpoint

ACKS = "$JS.ACK."
Groups = dict[str, list[Subscription]]


# Shared by the many buckets without queue groups; never written to.
_NO_GROUPS: dict[str, dict[Subscription, None]] = {}


class _Bucket:
    """Subscriptions of exactly one subject or pattern."""

    __slots__ = ("groups", "plain")

    def __init__(self) -> None:
        self.plain: dict[Subscription, None] = {}
        self.groups = _NO_GROUPS

    def add(self, subscription: Subscription) -> None:
        if subscription.queue:
            if self.groups is _NO_GROUPS:
                self.groups = {}
            self.groups.setdefault(subscription.queue, {})[subscription] = None
        else:
            self.plain[subscription] = None

    def discard(self, subscription: Subscription) -> bool:
        if not subscription.queue:
            return self.plain.pop(subscription, self) is None
        members = self.groups.get(subscription.queue, {})
        found = members.pop(subscription, self) is None
        if found and not members:
            del self.groups[subscription.queue]
        return found

    def __bool__(self) -> bool:
        return bool(self.plain or self.groups)

    def __iter__(self) -> Iterator[Subscription]:
        yield from self.plain
        for members in self.groups.values():
            yield from members


class Sublist:
    """A set of subscriptions, found by subject. `len()` is how many there are.

    leaving: whose subscriptions are no longer found, although some are still to be removed; with the latest
    watch that has known them.
    """

    __slots__ = ("_count", "_literal", "_patterns", "_tree", "leaving")

    def __init__(self) -> None:
        self._literal: dict[str, _Bucket] = {}
        self._patterns: dict[str, _Bucket] = {}  # what the tree has, by its subject
        self._tree: SubjectTree[_Bucket] = SubjectTree()
        self._count = 0
        self.leaving: dict[MessageEndpoint, int] = {}

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Subscription]:
        for buckets in (self._literal, self._patterns):
            for bucket in list(buckets.values()):
                yield from list(bucket)

    def subjects(self) -> dict[str, Any]:
        """All subjects, of which there may be very many: a dict that is the caller's, made in no time."""
        return self._literal | self._patterns

    def exactly(self, subject: str) -> dict[Subscription, None]:
        """The subscriptions of this very subject (or pattern), in a dict that is the caller's."""
        bucket = self._bucket(subject)
        return {} if bucket is None else dict.fromkeys(bucket)

    def insert(self, subscription: Subscription) -> None:
        """Add one; its subject must be valid."""
        subject = subscription.subject
        bucket = self._bucket(subject)
        if bucket is None:
            bucket = _Bucket()
            if _in_tree(subject):
                self._patterns[subject] = self._tree[subject] = bucket
            else:
                self._literal[subject] = bucket
        bucket.add(subscription)
        self._count += 1

    def remove(self, subscription: Subscription) -> bool:
        """Take one out; False when it was not there."""
        subject = subscription.subject
        bucket = self._bucket(subject)
        if bucket is None or not bucket.discard(subscription):
            return False
        if not bucket and self._literal.pop(subject, None) is None:
            del self._patterns[subject]
            self._tree.pop(subject)
        self._count -= 1
        return True

    def weight(self, subject: str, queue: str) -> int:
        """Members with exactly this subject (or pattern) and queue, remote groups by their weights."""
        bucket = self._bucket(subject)
        if bucket is None:
            return 0
        return sum(s.weight for s in bucket.groups.get(queue, ())) if queue else len(bucket.plain)

    def _bucket(self, subject: str) -> _Bucket | None:
        bucket = self._literal.get(subject)
        return self._patterns.get(subject) if bucket is None else bucket

    def match(self, subject: str) -> tuple[list[Subscription], Groups]:
        """Everyone who receives the literal `subject`: plain ones, and members by queue group.

        A subject with an empty token finds nobody.
        """
        plain: list[Subscription] = []
        groups: Groups = {}
        for bucket in self._matching(subject):
            plain.extend(bucket.plain)
            for queue, members in bucket.groups.items() if bucket.groups else ():
                groups.setdefault(queue, []).extend(members)
        if self.leaving:
            plain = self._staying(plain)
            stay = {queue: self._staying(members) for queue, members in groups.items()}
            groups = {queue: members for queue, members in stay.items() if members}
        return plain, groups

    def _staying(self, subscriptions: list[Subscription]) -> list[Subscription]:
        leaving = self.leaving
        return [each for each in subscriptions if each.sink not in leaving]

    def has_match(self, subject: str) -> bool:
        """Whether anyone receives the literal `subject`."""
        found = self._matching(subject)
        if not self.leaving:
            return bool(found)
        return any(each.sink not in self.leaving for bucket in found for each in bucket)

    def on_acks(self, pattern: str) -> Iterator[Subscription]:
        """Those that match something of `pattern`, which stands for acknowledgements (begins with `ACKS`)."""
        for bucket in self._tree.colliding(pattern):
            yield from bucket

    def _matching(self, subject: str) -> list[_Bucket]:
        literal = self._literal.get(subject)
        if not self._patterns:
            return [] if literal is None else [literal]
        if not subject or subject[0] == "." or subject[-1] == "." or ".." in subject:
            return []
        found = self._tree.matching(subject)
        return found if literal is None else [literal, *found]


def _in_tree(subject: str) -> bool:
    """Whether it is no literal for the dict: an ack route is asked for what they share."""
    return has_wildcard(subject) or subject.startswith(ACKS)
