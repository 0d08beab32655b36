"""CatchupRequests: how a replica that the log cannot help asks the others for what it lacks.

The questions and answers are the replica's (`catchup`); they go as letters between the members of one group.
Promises: one question at a time, asked again when no answer comes, of another member then; a member that is
not current refuses at once. Nothing more is asked before an answer is on the disk, so that no more than one
answer is ever under way. A leader asks who is to vote whether it is whole: it has to hold what it votes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .catchup import CatchupSenderError

if TYPE_CHECKING:
    from ...cluster.transport import RaftTransport

AGAIN = 8  # ticks without an answer
FRESH = 4  # ticks for which a refusal counts, and one more for each who is asked in turn
HOLDS = 16  # ticks for which it counts that somebody is whole
_QUESTION, _ANSWER, _REFUSAL, _INQUIRY, _WHOLE = b"?", b"!", b"-", b"=", b"+"


class CatchupRequests:
    """The correspondence of one replica.

    answer: gives what another one asks for, or raises CatchupSenderError. answered: takes an answer. peers:
    whom to ask, nodes, the best first. whole: whether this replica lacks nothing.
    """

    def __init__(
        self,
        group: str,
        transport: RaftTransport,
        answer: Callable[[bytes], bytes],
        answered: Callable[[bytes], None],
        peers: Callable[[], list[str]],
        whole: Callable[[], bool],
    ) -> None:
        self._group = group
        self._transport = transport
        self._answer = answer
        self._answered = answered
        self._peers = peers
        self._whole = whole
        self._question = b""
        self._peer = ""
        self._waited = 0
        self._now = 0  # ticks
        self._refused: dict[str, int] = {}  # who cannot help, and when it refused
        self._wholes: dict[str, int] = {}  # who lacks nothing, and when it answered so

    def start(self) -> None:
        """Receive from the others."""
        self._transport.correspond(self._group, self._receive)

    def stop(self) -> None:
        """Receive and ask nothing more."""
        self._transport.end_correspondence(self._group)
        self._question = b""

    def ask(self, question: bytes, *, another: bool = False) -> None:
        """Put a question; the answer goes to `answered`.

        another: not to who answered last, but at the next tick to the next one. A member that was removed
        while it could not be reached does not know that, and would answer for ever from what it has.
        """
        self._question = question
        if another:
            self._waited = AGAIN
        else:
            self._send()

    def rest(self) -> None:
        """Nothing is missing any more."""
        self._question = b""
        self._refused.clear()

    @property
    def hopeless(self) -> bool:
        """Whether all of the others have just refused."""
        peers = self._peers()
        since = self._now - FRESH - len(peers)
        return bool(peers) and all(self._refused.get(peer, since) > since for peer in peers)

    def is_whole(self, node: str) -> bool:
        """Whether a node has answered that it lacks nothing; if not, it is asked."""
        if self._now - self._wholes.get(node, -HOLDS) < HOLDS:
            return True
        self._transport.write(self._group, node, _INQUIRY)
        return False

    def tick(self) -> None:
        """Time passes: ask again, and another one."""
        self._now += 1
        if not self._question:
            return
        self._waited += 1
        if self._waited >= AGAIN or not self._peer or self._peer in self._refused:
            self._turn()
            self._send()

    def _turn(self) -> None:
        """Ask the next one from now on."""
        peers = self._peers()
        at = peers.index(self._peer) + 1 if self._peer in peers else 0
        self._peer = peers[at % len(peers)] if peers else ""

    def _send(self) -> None:
        self._waited = 0
        if not self._peer:
            self._turn()
        if self._peer:
            self._transport.write(self._group, self._peer, _QUESTION + self._question)

    def _receive(self, node: str, letter: bytes) -> None:
        kind, body = letter[:1], letter[1:]
        if kind == _QUESTION:
            try:
                reply = _ANSWER + self._answer(body)
            except CatchupSenderError as refusal:
                reply = _REFUSAL + str(refusal).encode()
            self._transport.write(self._group, node, reply)
        elif kind == _INQUIRY:
            if self._whole():
                self._transport.write(self._group, node, _WHOLE)
        elif kind == _WHOLE:
            self._wholes[node] = self._now
        elif kind == _REFUSAL and node == self._peer:
            self._refused[node] = self._now
        elif kind == _ANSWER and node == self._peer and self._question:
            self.rest()
            self._answered(body)
