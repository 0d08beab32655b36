"""PeerChecks: whether peers may connect as far as their authorities say, asked on threads, and remembered.

A chain is accepted if each of its certificates that names a responder is called good by it. Promises: no
callback waits for a responder; at most so many questions wait, and so many answers are kept; without an
answer a peer is refused, unless the rules say otherwise.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING

from ..config.options import SECOND

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from cryptography.x509 import Certificate

    from ..clock import Clock
    from ..config.ocsp_peer import PeerRules
    from ..logging import Logger
    from .answer import CertificateStatus

_THREADS = 8
_MOST_WAITING = 1024
_MOST_KEPT = 4096

_Asked = tuple[str, list[str]]  # why the peer is refused, "" if it is not, and warnings for the log


class PeerChecks:
    """The checks of one server's peers. Threads are begun with the first one.

    keeps: whether answers are remembered until they are no longer current.
    """

    def __init__(self, clock: Clock, log: Logger, *, keeps: bool = True) -> None:
        self.keeps = keeps
        self._clock = clock
        self._log = log
        self._threads: ThreadPoolExecutor | None = None
        self._asked: set[asyncio.Future[_Asked]] = set()
        self._lock = Lock()
        self._kept: OrderedDict[str, CertificateStatus] = OrderedDict()

    def check(self, chain: Sequence[bytes], rules: PeerRules, decided: Callable[[str], None]) -> None:
        """Find out whether a chain of certificates is good, and call `decided` later: "" or why it is not.

        chain: in DER, the peer's own first, as it was verified; the last one is the authority's own.
        """
        loop = asyncio.get_running_loop()
        if not chain or len(self._asked) >= _MOST_WAITING:
            why = "too many wait for OCSP answers" if chain else "the chain of certificates is not known"
            loop.call_soon(decided, why)
            return
        if self._threads is None:
            from concurrent.futures import ThreadPoolExecutor

            self._threads = ThreadPoolExecutor(_THREADS, "ocsp")
        asked = loop.run_in_executor(self._threads, self._judge, list(chain), rules)

        def done(future: asyncio.Future[_Asked]) -> None:
            self._asked.discard(future)
            if future.cancelled():
                return
            error = future.exception()
            why, warnings = future.result() if error is None else (f"OCSP failed: {error!r}", [])
            for warning in warnings:
                self._log.warning(warning)
            decided(why)

        self._asked.add(asked)
        asked.add_done_callback(done)

    async def stop(self) -> None:
        """Ask no more. Questions that wait are dropped; those that are asked are waited for."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            while self._asked:
                await asyncio.wait(self._asked)
            self._threads.shutdown()

    # --- on a thread

    def _judge(self, chain: list[bytes], rules: PeerRules) -> _Asked:
        from cryptography.x509 import load_der_x509_certificate

        from .answer import responders

        warnings: list[str] = []
        certificates = [load_der_x509_certificate(each) for each in chain]
        for certificate, issuer in pairwise(certificates):
            urls = responders(certificate)
            if not urls:
                continue
            why = self._ask(certificate, issuer, urls, rules, warnings)
            if why:
                subject = certificate.subject.rfc4514_string()
                warnings.append(f"OCSP verify fail for {subject}: {why}")
                if not rules.warn_only:
                    return "client not OCSP valid", warnings
        return "", warnings

    def _ask(
        self,
        certificate: Certificate,
        issuer: Certificate,
        urls: list[str],
        rules: PeerRules,
        warnings: list[str],
    ) -> str:
        """Return why a certificate is not good, "" if it is."""
        from .answer import GOOD, REVOKED, UNKNOWN, AnswerError, question, read
        from .responder import ResponderError, ask

        key = _key(certificate, issuer)
        known = self._known(key)
        if known is None or self._clock.now() > known.until:
            request, raw = question(certificate, issuer), None
            for url in urls:
                try:
                    raw = ask(url, request, rules.timeout / SECOND)
                    break
                except ResponderError as error:
                    warnings.append(f"OCSP responder cannot be asked: {error}")
            if raw is None:
                was_revoked = known is not None and known.status == REVOKED
                return "" if rules.when_unreachable and not was_revoked else "no responder has answered"
            try:
                known = read(raw, certificate, issuer, self._clock.now(), rules)
            except AnswerError as error:
                return str(error)
            self._keep(key, known)
        good = known.status == GOOD or (known.status == UNKNOWN and rules.unknown_is_good)
        return "" if good else f"its status is {known.status}"

    def _known(self, key: str) -> CertificateStatus | None:
        with self._lock:
            return self._kept.get(key)

    def _keep(self, key: str, answer: CertificateStatus) -> None:
        if not self.keeps:
            return
        with self._lock:
            self._kept[key] = answer
            self._kept.move_to_end(key)
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)


def _key(certificate: Certificate, issuer: Certificate) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return hashlib.sha256(
        certificate.public_bytes(Encoding.DER) + issuer.public_bytes(Encoding.DER)
    ).hexdigest()
