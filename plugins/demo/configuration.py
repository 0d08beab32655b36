"""The configurations of the leaf-node documentation; only ports are arguments."""

from __future__ import annotations

ACCOUNTS = """\
accounts {
    SYS: {
        users: [{user: admin, password: admin}]
    },
    ACC: {
        users: [{user: acc, password: acc}],
        jetstream: enabled
    }
}
system_account: SYS
"""

ACCOUNTS_WITH_IMPORTS = """\
accounts {
    SYS: {
        users: [{user: admin, password: admin}]
    },
    ACC: {
        users: [{user: acc, password: acc}],
        jetstream: enabled
        exports: [
            # minimum export needed to allow source/mirror to create a consumer on the fly
            {service: "$JS.hub.API.CONSUMER.CREATE.*", response_type: "stream"}
            # minimum export needed for push consumer. This includes source and mirror!
            {stream: "deliver.acc.hub.>"}
            # minimum export needed for durable pull consumer `dur` in stream `aggregate-test-leaf`
            {service: "$JS.hub.API.CONSUMER.MSG.NEXT.aggregate-test-leaf.dur", response_type: "stream"}
            # minimum export needed to ack messages for durable consumer `dur`
            {service: "$JS.ACK.aggregate-test-leaf.dur.>"}
            # minimum export needed for flow control of source/mirror
            {service: "$JS.FC.aggregate-test-leaf.dur.>"}
        ]
    }
    IMPORT_MIRROR: {
        users: [{user: import_mirror, password: import_mirror}],
        jetstream: enabled
        imports: [
            {service: {account: ACC, subject: "$JS.hub.API.CONSUMER.CREATE.*"},
             to: "JS.acc@hub.API.CONSUMER.CREATE.*" }
            {service: {account: ACC, subject: "$JS.FC.aggregate-test-leaf.dur.>"}}
            {stream: {account: ACC, subject: deliver.acc.hub.import_mirror.>}}
        ]
    }
    # Across accounts, only pull consumers are supported.
    IMPORT_CLIENT: {
        users: [{user: import_client, password: import_client}],
        jetstream: enabled
        imports: [
            {service: {account: ACC, subject: "$JS.hub.API.CONSUMER.MSG.NEXT.aggregate-test-leaf.dur"},
             to: "JS.acc@hub.API.CONSUMER.MSG.NEXT.aggregate-test-leaf.dur" }
            {service: {account: ACC, subject: "$JS.ACK.aggregate-test-leaf.dur.>"}}
        ]
    }
}
system_account: SYS
"""


def hub(port: int, leafnodes: int) -> str:
    """Return the page's hub.conf."""
    return f"""\
port: {port}
server_name: hub-server
jetstream {{
    store_dir="./store_server"
    domain=hub
}}
leafnodes {{
    port: {leafnodes}
}}
include ./accounts.conf
"""


def leaf(port: int, leafnodes: int) -> str:
    """Return the page's leaf.conf."""
    return f"""\
port: {port}
server_name: leaf-server
jetstream {{
    store_dir="./store_leaf"
    domain=leaf
}}
leafnodes {{
    remotes = [
        {{
            urls: ["nats-leaf://admin:admin@0.0.0.0:{leafnodes}"]
            account: "SYS"
        }},
        {{
            urls: ["nats-leaf://acc:acc@0.0.0.0:{leafnodes}"]
            account: "ACC"
        }}
    ]
}}
include ./accounts.conf
"""
