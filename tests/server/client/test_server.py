"""The server as a whole, in this process: sockets, start and stop, TLS, lame duck."""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from lib.eventually import until
from pyjs.server import Server
from pyjs.server.config.options import AuthorizationOptions, Options, TLSOptions, UserOptions

SECOND = 1_000_000_000
CONNECT = b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"protocol":1}\r\n'


class Peer:
    """A raw client on asyncio streams."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def until(self, mark: bytes) -> bytes:
        return await asyncio.wait_for(self.reader.readuntil(mark), 10)

    async def info(self) -> dict[str, object]:
        line = await self.until(b"\r\n")
        assert line.startswith(b"INFO ")
        value: dict[str, object] = json.loads(line[5:])
        return value

    def says(self, data: bytes) -> None:
        self.writer.write(data)

    async def sync(self) -> bytes:
        """What came before the answer to a PING, INFO lines apart."""
        self.says(b"PING\r\n")
        got = await self.until(b"PONG\r\n")
        return b"".join(line for line in got[:-6].splitlines(keepends=True) if not line.startswith(b"INFO "))

    async def end(self) -> bytes:
        """Everything until the server closes."""
        return await asyncio.wait_for(self.reader.read(), 10)


@asynccontextmanager
async def peer(server: Server, connect: bool = True) -> AsyncIterator[Peer]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 22)
    try:
        made = Peer(reader, writer)
        if connect:
            await made.info()
            made.says(CONNECT)
            await made.sync()
            await made.sync()  # past the INFO that follows the first PONG
        yield made
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def test_messages_go_from_socket_to_socket() -> None:
    async def main() -> None:
        async with Server() as server, peer(server) as one, peer(server) as two:
            assert server.url == f"nats://127.0.0.1:{server.port}"
            two.says(b"SUB a.* 1\r\n")
            await two.sync()
            one.says(b"PUB a.b 3\r\nxyz\r\n" * 1000)
            assert await one.sync() == b""
            assert await two.sync() == b"MSG a.b 1 3\r\nxyz\r\n" * 1000

    asyncio.run(main())


def test_stop_leaves_no_task_timer_or_thread() -> None:
    async def main() -> None:
        threads = threading.active_count()
        users = [UserOptions("u", "$2b$04$" + "a" * 53)]
        server = Server(authorization=AuthorizationOptions(users=users))
        async with server, peer(server, connect=False) as one:
            await one.info()
            one.says(b'CONNECT {"user":"u","pass":"x"}\r\n')
            assert await one.end() == b"-ERR 'Authorization Violation'\r\n"
        await server.stop()
        await asyncio.wait_for(server.wait(), 20)
        assert threading.active_count() == threads
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_clients_see_the_end_of_a_stopped_server() -> None:
    async def main() -> None:
        server = Server()
        await server.start()
        async with peer(server) as one:
            stopping = asyncio.ensure_future(server.stop())
            assert await one.end() == b""
            await stopping
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 22)

    asyncio.run(main())


def test_a_port_in_use_is_an_error_and_leaves_nothing() -> None:
    async def main() -> None:
        async with Server() as server:
            second = Server(port=server.port)
            with pytest.raises(OSError, match="in use"):
                await second.start()
            await second.stop()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_unknown_options_are_refused() -> None:
    async def main() -> None:
        with pytest.raises(TypeError, match="no such option"):
            Server(prot=1)

    asyncio.run(main())


def test_half_a_message_and_a_cut_harm_nobody() -> None:
    async def main() -> None:
        async with Server() as server, peer(server) as one:
            one.says(b"SUB > 1\r\n")
            await one.sync()
            async with peer(server) as two:
                two.says(b"PUB a 100\r\nhalf")
            assert await one.sync() == b""
            async with peer(server) as three:
                three.says(b"PUB a 1\r\nx\r\n")
                await three.sync()
            assert await one.sync() == b"MSG a 1 1\r\nx\r\n"
            await until(lambda: len(server.clients.connections) == 1)

    asyncio.run(main())


def test_a_consumer_that_does_not_read_is_cut_off_and_the_rest_goes_on() -> None:
    async def main() -> None:
        server = Server(max_pending=4_000_000)
        async with server, peer(server) as producer, peer(server) as reader, peer(server) as sleeper:
            for one in (reader, sleeper):
                one.says(b"SUB a 1\r\n")
                await one.sync()
            sleeper.writer.transport.pause_reading()  # type: ignore[attr-defined]
            frame = b"PUB a 100000\r\n" + b"x" * 100_000 + b"\r\n"

            async def read() -> int:
                got = 0
                while got < 300 * 100_000:
                    got += len(await reader.reader.read(1 << 20))
                return got

            reading = asyncio.ensure_future(read())
            for _ in range(300):
                producer.says(frame)
                await producer.writer.drain()
            assert await asyncio.wait_for(reading, 20) >= 300 * 100_000
            await producer.sync()
            assert server.clients.statistics.slow_consumers == 1
            assert len(server.clients.connections) == 2

    asyncio.run(main())


def test_lame_duck_is_announced_accepts_nobody_and_ends() -> None:
    async def main() -> None:
        options = Options(host="127.0.0.1", port=0, lame_duck_grace_period=0, lame_duck_duration=0)
        server = Server(options)
        await server.start()
        async with peer(server) as one, peer(server) as two:
            draining = asyncio.ensure_future(server.drain())
            assert (await one.info())["ldm"] is True
            assert (await two.info())["ldm"] is True
            with pytest.raises(OSError):
                await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 22)
            assert await one.end() == b""
            assert await two.end() == b""
            await draining
            await server.wait()

    asyncio.run(main())


def test_a_reload_of_the_running_server_reaches_its_clients() -> None:
    async def main() -> None:
        async with Server() as server, peer(server) as one:
            changed = Options(host="127.0.0.1", port=0, max_payload=10)
            server.reload(changed)
            one.says(b"PUB a 11\r\n")
            assert (await one.end()).endswith(b"-ERR 'Maximum Payload Violation'\r\n")

    asyncio.run(main())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder: Path = tmp_path_factory.mktemp("tls")
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ]
    command += ["-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key


async def start_tls(one: Peer, certificate: tuple[str, str]) -> None:
    context = ssl.create_default_context(cafile=certificate[0])
    await one.writer.start_tls(context, server_hostname="localhost")


@pytest.mark.parametrize("first", [False, True, 20_000_000])
def test_tls_after_info_and_before(certificate: tuple[str, str], first: bool | int) -> None:
    async def main() -> None:
        tls = TLSOptions(cert_file=certificate[0], key_file=certificate[1], handshake_first=first)
        async with Server(tls=tls) as server, peer(server, connect=False) as one:
            if first is not True:
                assert (await one.info())["tls_required"] is True
            await start_tls(one, certificate)
            if first is True:
                await one.info()
            one.says(CONNECT + b"SUB a 1\r\n" + b"PUB a 100000\r\n" + b"x" * 100_000 + b"\r\n")
            assert await one.sync() == b"MSG a 1 100000\r\n" + b"x" * 100_000 + b"\r\n"
            (connection,) = server.clients.connections.values()
            assert connection.secure is not None
            assert connection.secure.version.startswith("TLSv1")
            assert connection.secure.cipher

    asyncio.run(main())


def test_without_tls_only_where_it_is_allowed(certificate: tuple[str, str]) -> None:
    async def main() -> None:
        tls = TLSOptions(cert_file=certificate[0], key_file=certificate[1])
        async with Server(tls=tls) as server, peer(server, connect=False) as one:
            await one.info()
            one.says(CONNECT)
            assert await one.end() == b""
        async with Server(tls=tls, allow_non_tls=True) as server:
            async with peer(server, connect=False) as plain:
                info = await plain.info()
                assert info["tls_available"] is True
                assert "tls_required" not in info
                plain.says(CONNECT + b"SUB a 1\r\nPUB a 0\r\n\r\n")
                assert await plain.sync() == b"MSG a 1 0\r\n\r\n"
            async with peer(server, connect=False) as secure:
                await secure.info()
                await start_tls(secure, certificate)
                secure.says(CONNECT)
                assert await secure.sync() == b""

    asyncio.run(main())


def test_a_tls_handshake_must_come_in_time(certificate: tuple[str, str]) -> None:
    async def main() -> None:
        for first in (False, True):
            tls = TLSOptions(
                cert_file=certificate[0], key_file=certificate[1], handshake_first=first, timeout=SECOND // 20
            )
            async with Server(tls=tls) as server, peer(server, connect=False) as one:
                assert (await one.end()).startswith(b"" if first else b"INFO ")
                await until(lambda server=server: not server.clients.connections)  # type: ignore[misc]

    asyncio.run(main())


def test_a_certificate_that_must_be_shown_and_is_not(certificate: tuple[str, str]) -> None:
    async def main() -> None:
        tls = TLSOptions(
            cert_file=certificate[0], key_file=certificate[1], ca_file=certificate[0], verify=True
        )
        async with Server(tls=tls) as server, peer(server, connect=False) as one:
            assert (await one.info())["tls_verify"] is True
            with pytest.raises(OSError):
                await start_tls(one, certificate)
                one.says(CONNECT)
                await one.until(b"PONG")
            await until(lambda: not server.clients.connections)

    asyncio.run(main())
