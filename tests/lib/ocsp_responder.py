"""An OCSP responder of a test's own, which says what the test decides."""

from __future__ import annotations

import base64
import datetime
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509 import ocsp
from cryptography.x509.oid import AuthorityInformationAccessOID

from .certificates import Authority

GOOD, REVOKED, UNKNOWN = ocsp.OCSPCertStatus.GOOD, ocsp.OCSPCertStatus.REVOKED, ocsp.OCSPCertStatus.UNKNOWN


class Responder:
    """Answers for one authority's certificates, by serial number: `UNKNOWN` what it was not told.

    statuses: what it says of each.
    asked: the serial numbers that it was asked about.
    signer: who signs its answers instead of the authority, such as somebody who may not.
    age: how old its answers are; they count for an hour.
    """

    def __init__(self, authority: Authority, port: int) -> None:
        self.authority = authority
        self.port = port
        self.issued: dict[int, x509.Certificate] = {}
        self.statuses: dict[int, ocsp.OCSPCertStatus] = {}
        self.asked: list[int] = []
        self.signer: Authority = authority
        self.age = datetime.timedelta(minutes=1)

    def issue(self, name: str, serial: int, status: ocsp.OCSPCertStatus) -> None:
        """Have the authority issue a certificate that names this responder."""
        place = x509.UniformResourceIdentifier(f"http://127.0.0.1:{self.port}/ocsp")
        access = x509.AccessDescription(AuthorityInformationAccessOID.OCSP, place)
        self.issued[serial] = self.authority.issue(name, serial, x509.AuthorityInformationAccess([access]))
        self.statuses[serial] = status

    def answer(self, question: bytes) -> bytes:
        """Return the answer to a question, in DER."""
        request = ocsp.load_der_ocsp_request(question)
        self.asked.append(request.serial_number)
        status = self.statuses[request.serial_number]
        now = datetime.datetime.now(datetime.UTC) - self.age
        builder = ocsp.OCSPResponseBuilder().add_response(
            cert=self.issued[request.serial_number],
            issuer=self.authority.certificate,
            algorithm=hashes.SHA1(),
            cert_status=status,
            this_update=now,
            next_update=now + datetime.timedelta(hours=1),
            revocation_time=now if status is REVOKED else None,
            revocation_reason=None,
        )
        builder = builder.responder_id(ocsp.OCSPResponderEncoding.NAME, self.signer.certificate)
        return builder.sign(self.signer.key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


@contextmanager
def responder_of(authority: Authority) -> Iterator[Responder]:
    """Serve a responder at a free port of 127.0.0.1."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._say(base64.b64decode(urllib.parse.unquote(self.path.removeprefix("/ocsp/"))))

        def do_POST(self) -> None:
            self._say(self.rfile.read(int(self.headers["Content-Length"])))

        def _say(self, question: bytes) -> None:
            body = responder.answer(question)
            self.send_response(200)
            self.send_header("Content-Type", "application/ocsp-response")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        responder = Responder(authority, server.server_address[1])
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield responder
        finally:
            server.shutdown()
            thread.join()
