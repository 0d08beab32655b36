"""A cluster under test: server processes whose routes pass through a switch and whose disks can fail."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from lib import reference
from lib.eventually import eventually
from lib.jetstream import ApiFailureError, JetStream
from lib.jetstream_cluster import JetMesh
from lib.process import ServerProcess, free_port
from lib.wire import Wire

from .disk import cut_power, set_faults
from .publishers import connect
from .switch import Switch, Way
from .values import BUCKET, CONSUMER, JOB, JOBS, KEYS, STREAM, SUBJECT

CONFIG = """
listen: 127.0.0.1:<client>
server_name: {name}
jetstream {{ store_dir: "<store>", max_memory_store: 256MB, max_file_store: 4GB{options} }}
cluster {{
    name: trust
    listen: 127.0.0.1:{port}
    advertise: "127.0.0.1:{proxy}"
    no_advertise: true
    routes: [{routes}]
}}
accounts {{
    SYS: {{ users: [{{user: admin, password: admin}}] }}
    ACC: {{ users: [{{user: acc, password: acc}}], jetstream: enabled }}
}}
system_account: SYS
"""
ACK_WAIT_SECONDS = 4
ANSWER_SECONDS = 90.0
LAUNCH_SECONDS = 60.0


def command(implementation: str, directory: Path, seed: int, *, faulty: bool) -> Sequence[str]:
    """Return the command that starts a server; `faulty`: over the disk of `lib.trust.disk`."""
    if implementation == "reference":
        return [reference.binary()]
    if not faulty:
        return [sys.executable, "-m", "pyjs.server.main"]
    paths = ":".join(sys.path)
    variables = [f"PYTHONPATH={paths}", f"TRUST_STORE={directory}/store", f"TRUST_SEED={seed}"]
    return ["env", *variables, sys.executable, "-m", "lib.trust.server"]


class Server(ServerProcess):
    """A server that may take its time: five of them start at once, and recover damaged files."""

    def launch(self, seconds: float = LAUNCH_SECONDS) -> None:
        super().launch(seconds)


class FaultyCluster(JetMesh):
    """A `JetMesh` under faults, with servers s0, s1, …

    faulty: whether its disks can lose power and fail (pyjs only); every other server encrypts then
    """

    def __init__(
        self, implementation: str, size: int, *, seed: int = 0, faulty: bool = False, options: str = ""
    ) -> None:
        self.implementation = implementation
        self.faulty = faulty
        self.servers: list[ServerProcess] = []
        self.switch = Switch()
        ports = [free_port() for _ in range(size)]
        proxies = [self.switch.proxy(f"s{number}", port) for number, port in enumerate(ports)]
        routes = ", ".join(f"nats-route://127.0.0.1:{proxy}" for proxy in proxies)
        given = f", {options}" if options else ""
        try:
            for number, port in enumerate(ports):
                name = f"s{number}"
                options = f"{given}, key: trust" if faulty and number % 2 else given
                directory = Path(tempfile.mkdtemp(prefix=f"pyjs-trust-{name}-"))
                start = command(implementation, directory, seed * 10 + number, faulty=faulty)
                server = Server(name, start, directory, {})
                self.servers.append(server)
                server.configure(
                    CONFIG.format(name=name, port=port, proxy=proxies[number], routes=routes, options=options)
                )
            self.launch(self.servers)
            self.ready()
        except BaseException:
            self.close()
            raise

    @property
    def names(self) -> list[str]:
        return [server.name for server in self.servers]

    def close(self) -> None:
        for server in self.servers:
            if server.process is not None and server.process.poll() is None:
                server.signal(signal.SIGCONT)
                server.kill()
            server.stop()
        self.switch.close()

    def keep(self, place: Path) -> None:
        """Copy the servers' logs and stores, as they are now."""
        shutil.rmtree(place, ignore_errors=True)
        for server in self.servers:
            shutil.copytree(server.directory, place / server.name)

    # --- what is done to servers

    def launch(self, servers: Sequence[ServerProcess]) -> None:
        """Start these servers, all at once."""
        with ThreadPoolExecutor(len(servers)) as pool:
            list(pool.map(lambda server: server.launch(), servers))

    def cut_power(self, server: ServerProcess) -> None:
        """Kill a server, and lose what it had not synced."""
        server.kill()
        cut_power(self.store(server))

    def fail_disk(self, server: ServerProcess, **faults: int) -> None:
        """Set the faults of a disk, see `lib.trust.disk`; without any it is whole again."""
        set_faults(self.store(server), **faults)

    def store(self, server: ServerProcess) -> Path:
        return server.directory / "store"

    def wipe(self, server: ServerProcess) -> None:
        """Remove a dead server's disk, and give it an empty one."""
        for place in server.directory.glob("store*"):
            if place.is_dir():
                shutil.rmtree(place)

    def part(self, ones: Sequence[str], others: Sequence[str], *, breaks: bool, both: bool = True) -> None:
        """Cut the ways from `ones` to `others`, and back if `both`."""
        ways: list[Way] = [(a, b) for a in ones for b in others]
        if both:
            ways += [(b, a) for a, b in ways]
        self.switch.part(ways, breaks=breaks)

    # --- the API

    def try_call(self, server: ServerProcess, suffix: str, body: Any = b"") -> dict[str, Any]:
        """Make one call through a server. Raises ApiFailureError, OSError, EOFError."""
        with JetStream(connect(server)) as js:
            message = js.raw(suffix, body)
        if message.status:
            raise ConnectionError(message.status)
        answer: dict[str, Any] = message.json()
        if "error" in answer:
            raise ApiFailureError(answer["error"])
        return answer

    def call(
        self,
        suffix: str,
        body: Any = b"",
        *,
        through: ServerProcess | None = None,
        seconds: float = ANSWER_SECONDS,
        fits: Callable[[dict[str, Any]], object] = lambda _: True,
    ) -> dict[str, Any]:
        """Call through a server (or one after the other) until there is an answer that `fits`."""
        found: list[dict[str, Any]] = []
        said: list[str] = []
        turn = 0

        def answered() -> bool:
            nonlocal turn
            servers = [through] if through is not None else self.alive()
            turn += 1
            try:
                answer = self.try_call(servers[turn % len(servers)], suffix, body)
            except (ApiFailureError, OSError, EOFError) as error:
                said.append(f"{type(error).__name__}: {error}")
                return False
            said.append(str(answer))
            found.append(answer)
            return bool(fits(answer))

        try:
            eventually(answered, seconds)
        except AssertionError as error:
            raise AssertionError(f"{suffix}: {error}; at last: {said[-1][:600]}") from None
        return found[-1]

    def leader_of(self, stream: str = STREAM) -> str:
        """Wait until the stream's info names a leader, and return it."""
        leader: str = self.call(f"STREAM.INFO.{stream}", fits=is_led)["cluster"]["leader"]
        return leader

    def members(self, stream: str) -> list[str]:
        """Return the servers that hold a stream, its leader first."""
        cluster = self.call(f"STREAM.INFO.{stream}", fits=is_led)["cluster"]
        return [cluster["leader"], *sorted(other["name"] for other in cluster.get("replicas") or [])]

    def lead(self, stream: str, name: str) -> None:
        """Make `name` the leader of a stream."""

        def leads() -> bool:
            if self.leader_of(stream) == name:
                return True
            wish = {"placement": {"preferred": name}}
            # No leader at the moment, or one that has just begun: asked again.
            with contextlib.suppress(ApiFailureError, OSError, EOFError):
                self.try_call(self[name], f"STREAM.LEADER.STEPDOWN.{stream}", wish)
            return False

        eventually(leads, ANSWER_SECONDS)
        self.call(f"STREAM.INFO.{stream}", fits=lambda info: is_led(info) and is_current(info))

    def make_streams(self, replicas: int) -> None:
        """Create the stream, the bucket and the work queue, and their consumers."""
        stream = {"name": STREAM, "subjects": [f"{SUBJECT}.>"], "num_replicas": replicas}
        self.call(f"STREAM.CREATE.{STREAM}", stream | {"duplicate_window": 600_000_000_000})
        bucket = {"name": BUCKET, "subjects": [f"{KEYS}.>"], "num_replicas": replicas}
        bucket |= {"max_msgs_per_subject": 1, "allow_rollup_hdrs": True, "deny_delete": True}
        self.call(f"STREAM.CREATE.{BUCKET}", bucket | {"discard": "new", "allow_direct": True})
        jobs = {"name": JOBS, "subjects": [f"{JOB}.>"], "num_replicas": replicas, "retention": "workqueue"}
        self.call(f"STREAM.CREATE.{JOBS}", jobs)
        consumer = {"durable_name": CONSUMER, "ack_policy": "explicit", "max_ack_pending": 5000}
        consumer |= {"ack_wait": ACK_WAIT_SECONDS * 1_000_000_000}
        for name in (STREAM, JOBS):
            request = {"stream_name": name, "config": consumer, "action": ""}
            self.call(f"CONSUMER.CREATE.{name}.{CONSUMER}", request)

    def is_whole(self, stream: str = STREAM) -> bool:
        """Return whether every server reports a leader and current replicas."""
        try:
            answers = [self.try_call(server, f"STREAM.INFO.{stream}") for server in self.servers]
        except (ApiFailureError, OSError, EOFError):
            return False
        leaders = {answer.get("cluster", {}).get("leader", "") for answer in answers}
        return len(leaders) == 1 and "" not in leaders and all(map(is_current, answers))

    def wire(self, server: ServerProcess) -> Wire:
        return connect(server, 15.0)


def is_led(info: dict[str, Any]) -> bool:
    """Return whether a stream's or consumer's info names its leader."""
    return bool(info.get("cluster", {}).get("leader"))


def is_current(info: dict[str, Any]) -> bool:
    """Return whether all replicas of an info exist, and have come as far as the leader."""
    config = info["config"]
    others = info.get("cluster", {}).get("replicas") or []
    wanted = config.get("num_replicas", 1)
    return len(others) == wanted - 1 and all(o["current"] and not o.get("offline") for o in others)
