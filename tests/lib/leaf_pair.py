"""A hub and a leaf as the documentation of leaf nodes sets them up, each of either implementation."""

from __future__ import annotations

from .eventually import eventually
from .jetstream import JetStream
from .pool import START
from .process import ServerProcess
from .wire import Wire

ACCOUNTS = """
accounts {
    SYS: { users: [{user: admin, password: admin}] },
    ACC: { users: [{user: acc, password: acc}], jetstream: enabled }
}
system_account: SYS
"""
# The documentation's second accounts.conf.
SHARED = """
accounts {
    SYS: { users: [{user: admin, password: admin}] },
    ACC: {
        users: [{user: acc, password: acc}],
        jetstream: enabled
        exports: [
            {service: "$JS.hub.API.CONSUMER.CREATE.*", response_type: "stream"}
            {stream: "deliver.acc.hub.>"}
            {service: "$JS.hub.API.CONSUMER.MSG.NEXT.aggregate-test-leaf.dur", response_type: "stream"}
            {service: "$JS.ACK.aggregate-test-leaf.dur.>"}
            {service: "$JS.FC.aggregate-test-leaf.dur.>"}
        ]
    }
    IMPORT_MIRROR: {
        users: [{user: import_mirror, password: import_mirror}],
        jetstream: enabled
        imports: [
            {service: {account: ACC, subject: "$JS.hub.API.CONSUMER.CREATE.*"}, to: "JS.acc@hub.API.CONSUMER.CREATE.*" }
            {service: {account: ACC, subject: "$JS.FC.aggregate-test-leaf.dur.>"}}
            {stream: {account: ACC, subject: deliver.acc.hub.import_mirror.>}}
        ]
    }
    IMPORT_CLIENT: {
        users: [{user: import_client, password: import_client}],
        jetstream: enabled
        imports: [
            {service: {account: ACC, subject: "$JS.hub.API.CONSUMER.MSG.NEXT.aggregate-test-leaf.dur"}, to: "JS.acc@hub.API.CONSUMER.MSG.NEXT.aggregate-test-leaf.dur" }
            {service: {account: ACC, subject: "$JS.ACK.aggregate-test-leaf.dur.>"}}
        ]
    }
}
system_account: SYS
"""  # noqa: E501 (the documentation's own lines)
HUB = """
listen: 127.0.0.1:<client>
server_name: hub-server
jetstream { store_dir="<store>", domain=hub }
leafnodes { listen: 127.0.0.1:<leaf> }
"""
LEAF = """
listen: 127.0.0.1:<client>
server_name: leaf-server
jetstream { store_dir="<store>", domain=leaf }
leafnodes {
    reconnect: 1
    remotes = [
        { urls: ["nats-leaf://admin:admin@127.0.0.1:@hub@"], account: "SYS" },
        { urls: ["nats-leaf://acc:acc@127.0.0.1:@hub@"], account: "ACC" }
    ]
}
"""

COMBINATIONS = [(h, f) for h in ("reference", "pyjs") for f in ("reference", "pyjs")]


def combined(combination: tuple[str, str]) -> str:
    """Return a combination (hub, leaf) as the id of a test."""
    return f"{combination[0]}-hub-{combination[1]}-leaf"


class Pair:
    """Two running servers with the leaf connected."""

    def __init__(
        self, hub: str, leaf: str, hub_config: str = HUB + ACCOUNTS, leaf_config: str = LEAF + ACCOUNTS
    ) -> None:
        """Start both; `@hub@` in the leaf's configuration becomes the hub's leaf port."""
        self.hub = START[hub](hub_config)
        try:
            self.leaf = START[leaf](leaf_config.replace("@hub@", str(self.hub.ports["leaf"])))
        except BaseException:
            self.hub.stop()
            raise

    def close(self) -> None:
        """Stop both."""
        self.leaf.stop()
        self.hub.stop()

    def joined(self, user: str = "acc") -> None:
        """Return when a request of `user` on either side reaches the same user on the other."""
        with login(self.hub, user) as hub, login(self.leaf, user) as leaf:
            for here, there in ((hub, leaf), (leaf, hub)):
                heard(here, there, "is.the.link.up")


def login(server: ServerProcess, user: str = "acc") -> Wire:
    """Return a client whose password is its name."""
    return server.connect(**{"user": user, "pass": user})


def api(server: ServerProcess, user: str = "acc", prefix: str = "$JS.API") -> JetStream:
    """Return the API as `user` sees it."""
    return JetStream(login(server, user), prefix)


def heard(listener: Wire, sender: Wire, subject: str) -> None:
    """Return when what `sender` publishes on `subject` reaches `listener`; nothing stays subscribed."""
    listener.sub(subject, "probe")
    listener.sync()

    def arrives() -> bool:
        sender.pub(subject, b"probe")
        sender.sync()
        listener.unread.clear()
        return any(getattr(f, "sid", "") == "probe" for f in listener.sync())

    eventually(arrives, 60)
    listener.send("UNSUB probe\r\n")
    listener.sync()
