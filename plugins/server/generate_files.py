"""The files that `pyjs server generate` makes: pure functions from answers to texts.

A template has questions, each with a default, and makes files of the answers: their paths in the target
folder, and their texts. Names of questions are those of `nats server generate`. Values that people gave are
quoted as JSON, which server configurations and YAML read as well, so that none is taken for something else.

Source: natscli, internal/scaffold/store (form.yaml of each template).
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

Answers = Mapping[str, Any]
Files = dict[str, str]
MOST = 20  # clusters, and servers of each
SYSTEM, USER = "system", "user"  # the users of a generated cluster, and their accounts


class Question(NamedTuple):
    """A question: its name, its text, and its default, whose type is that of the answer.

    when: the name of a question that has to be answered with yes.
    least, most: of a number.
    """

    name: str
    text: str
    default: Any
    when: str = ""
    least: int = 0
    most: int = 65535


class ConfigTemplate(NamedTuple):
    """A template. operator: whether it needs an operator in the folders of nsc."""

    title: str
    questions: tuple[Question, ...]
    files: Callable[[Answers], Files]
    operator: bool = False


class OperatorToTrust(NamedTuple):
    """An operator that servers trust, and its system account if it has one, each with its token."""

    name: str
    token: str
    system: str = ""
    system_token: str = ""


def password() -> str:
    """Return a new password."""
    return secrets.token_urlsafe(15)


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _block(name: str, *lines: str) -> str:
    return f"{name} {{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"


def _nodes(given: Answers) -> Iterator[tuple[int, int, int]]:
    """Yield each server: its cluster, its number in it, and the port of this machine that leads to it."""
    for cluster in range(1, given["clusters"] + 1):
        for node in range(1, given["members"] + 1):
            yield cluster, node, given["port"] + (cluster - 1) * 100 + node - 1


def cluster(given: Answers) -> Files:
    """Return a configuration that all servers share, docker-compose.yaml, and contexts for clients."""
    files = {"cluster.conf": _cluster_conf(given), "docker-compose.yaml": _compose(given)}
    for number in range(1, given["clusters"] + 1):
        urls = ",".join(
            f"nats://n{node}.c{number}.{given['domain']}:4222" for node in range(1, given["members"] + 1)
        )
        names = {USER: f"c{number}", SYSTEM: f"system_c{number}"}
        for user, name in names.items():
            fields = {"description": f"The user {user} of cluster c{number}", "url": urls}
            document = fields | ({"user": user, "password": given["password"]} if given["password"] else {})
            for path in (name, user) if number == 1 else (name,):
                files[f"cli/context/{path}.json"] = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    files["cli/context.txt"] = USER
    return files


def _cluster_conf(given: Answers) -> str:
    routes = (f"nats-route://n{node}:6222" for node in range(1, given["members"] + 1))
    gateways = (
        f'{{ name: "c{number}", urls: '
        + _quoted(
            [f"nats://n{node}.c{number}.{given['domain']}:7222" for node in range(1, given["members"] + 1)]
        )
        + " }"
        for number in range(1, given["clusters"] + 1)
    )
    parts = [
        "# Of all servers; the variables are set in docker-compose.yaml.\n"
        "port: 4222\nmonitor_port: 8222\n"
        "server_name: $NAME\nclient_advertise: $ADVERTISE\nserver_tags: $GATEWAY\n",
        _block("cluster", "name: $GATEWAY", "port: 6222", f"routes: {_quoted(list(routes))}"),
    ]
    if given["jetstream"]:
        parts.append(_block("jetstream", 'store_dir: "/data"'))
    if given["clusters"] > 1:
        parts.append(_block("gateway", "name: $GATEWAY", "port: 7222", "gateways: [", *gateways, "]"))
    if given["password"]:
        secret = _quoted(given["password"])
        jetstream = ["jetstream: enabled,"] if given["jetstream"] else []
        rows = [
            f"USERS: {{ {' '.join(jetstream)} users: [{{ user: {USER}, password: {secret} }}] }}",
            f"SYS: {{ users: [{{ user: {SYSTEM}, password: {secret} }}] }}",
        ]
        parts += [_block("accounts", *rows), "system_account: SYS\n"]
    return "\n".join(parts)


def _compose(given: Answers) -> str:
    mounts = [given["mount"]] if given["mount"] else []
    services: dict[str, Any] = {
        f"cli.{given['domain']}": {
            "image": "natsio/nats-box:latest",
            "dns_search": given["domain"],
            "entrypoint": "/bin/sh",
            "tty": True,
            "networks": ["shared"],
            "environment": {"XDG_CONFIG_HOME": "/config"},
            "volumes": ["./cli:/config/nats", *mounts],
        }
    }
    for number, node, port in _nodes(given):
        name = f"n{node}.c{number}"
        services[f"{name}.{given['domain']}"] = {
            "image": given["image"],
            "dns_search": f"c{number}.{given['domain']}",
            "environment": {
                "GATEWAY": f"c{number}",
                "NAME": name,
                "ADVERTISE": f"{name}.{given['domain']}:{port}",
            },
            "networks": ["shared", f"nats-cluster{number}"],
            "ports": [f"{port}:4222"],
            "volumes": [
                f"./cluster.conf:{given['configPath']}",
                f"{given['data']}/{name}:/data",
                *mounts,
            ],
        }
    networks: dict[str, Any] = {f"nats-cluster{n}": {} for n in range(1, given["clusters"] + 1)} | {
        "shared": {}
    }
    return "\n".join(_yaml({"services": services, "networks": networks})) + "\n"


def _yaml(value: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Yield lines of YAML: maps as blocks, everything else as JSON."""
    for name, held in value.items():
        if isinstance(held, dict) and held:
            yield f"{indent}{_quoted(name)}:"
            yield from _yaml(held, indent + "  ")
        else:
            yield f"{indent}{_quoted(name)}: {_quoted(held)}"


def operator(given: Answers) -> Files:
    """Return the configuration of a server that trusts an operator and keeps the accounts' tokens."""
    trusted: OperatorToTrust = given["operator"]
    parts = [
        f"# A server of the operator {_quoted(trusted.name)}.\n"
        f"server_name: {_quoted(given['server_name'])}\n"
        f"listen: {_quoted(given['address'] + ':' + str(given['port']))}\n"
    ]
    if given["monitor_port"]:
        parts.append(f"monitor_port: {given['monitor_port']}\n")
    parts.append(f"operator: {trusted.token}\n")
    if trusted.system:
        parts.append(f"system_account: {trusted.system}\n")
        parts.append(_block("resolver_preload", f"{trusted.system}: {trusted.system_token}"))
    if given["streams"]:
        sizes = (f"{name}: {given[name]}" for name in ("max_mem", "max_file"))
        parts.append(_block("jetstream", f"store_dir: {_quoted(given['store_dir'])}", *sizes))
    parts.append(
        _block(
            "resolver",
            "type: full",
            f"dir: {_quoted(given['dir'])}",
            f"allow_delete: {_quoted(given['allow_delete'])}",
            'interval: "2m"',
            f"limit: {given['limit']}",
        )
    )
    return {"server.conf": "\n".join(parts)}


def kubernetes(given: Answers) -> Files:
    """Return the values of NATS's Helm chart for a cluster that trusts an operator."""
    trusted: OperatorToTrust = given["operator"]
    config: dict[str, Any] = {
        "cluster": {"enabled": True, "replicas": given["replicas"]},
        "resolver": {
            "enabled": True,
            "merge": {
                "type": "full",
                "interval": "2m",
                "timeout": "1.9s",
                "allow_delete": given["allow_delete"],
                "limit": given["limit"],
            },
        },
        "merge": {"operator": trusted.token},
    }
    if trusted.system:
        config["merge"]["system_account"] = trusted.system
        config["merge"]["resolver_preload"] = {trusted.system: trusted.system_token}
    if given["streams"]:
        config["jetstream"] = {"enabled": True, "fileStore": {"pvc": {"size": given["storage"]}}}
    return {"values.yaml": "\n".join(_yaml({"natsBox": {"enabled": False}, "config": config})) + "\n"}


def leafnode(given: Answers) -> Files:
    """Return the configuration of a leaf node of Synadia Cloud, or of another hub that takes credentials."""
    parts = [f'# A leaf node of {_quoted(given["url"])}.\nlisten: "0.0.0.0:{given["port"]}"\n']
    if given["monitor_port"]:
        parts.append(f"monitor_port: {given['monitor_port']}\n")
    if given["jetstream"]:
        domain = f"domain: {_quoted(given['jetstream_domain'])}"
        parts.append(_block("jetstream", f"store_dir: {_quoted(given['store_dir'])}", domain))
    remote = f"{{ url: {_quoted(given['url'])}, credentials: {_quoted(given['credentials'])} }}"
    parts.append(_block("leafnodes", f"remotes: [{remote}]"))
    return {"leafnode.conf": "\n".join(parts)}


_RESOLVER = (
    Question("allow_delete", "May accounts be deleted?", default=True),
    Question("limit", "The most accounts", 1000, least=1, most=10**9),
)
TEMPLATES: dict[str, ConfigTemplate] = {
    "cluster": ConfigTemplate(
        "Clusters for development, with Docker Compose",
        (
            Question("clusters", "How many clusters", 3, least=1, most=MOST),
            Question("members", "How many servers in each", 3, least=1, most=MOST),
            Question("jetstream", "JetStream?", default=True),
            Question("domain", "DNS domain of the network", "nats.internal"),
            Question("port", "Port of the first server", 10000, least=1, most=60000),
            Question("image", "Docker image of servers", "nats:latest"),
            Question("configPath", "Where a container has the configuration", "/nats-server.conf"),
            Question("data", "Directory of the data", "./data"),
            Question("password", "Password of the users; empty: no users", password),
            Question("mount", "A directory to mount, as HERE:THERE", ""),
        ),
        cluster,
    ),
    "operator": ConfigTemplate(
        "A server of an operator, with accounts by token",
        (
            Question("server_name", "Name of the server", "nats.example.net"),
            Question("address", "Address to listen on", "0.0.0.0"),  # noqa: S104 - as nats has it
            Question("port", "Port for clients", 4222, least=1),
            Question("monitor_port", "Port for monitoring; 0: none", 8222),
            Question("streams", "JetStream?", default=True),
            Question("store_dir", "Directory of JetStream", "/var/lib/nats/jetstream", "streams"),
            Question("max_mem", "Most memory, such as 1GB; -1: by itself", "-1", "streams"),
            Question("max_file", "Most storage, such as 1GB; -1: by itself", "-1", "streams"),
            Question("dir", "Directory of the accounts' tokens", "/var/lib/nats/resolver"),
            *_RESOLVER,
        ),
        operator,
        operator=True,
    ),
    "kubernetes": ConfigTemplate(
        "A cluster of an operator in Kubernetes: values of the Helm chart",
        (
            Question("replicas", "How many servers", 3, least=1, most=1000),
            Question("streams", "JetStream?", default=True),
            Question("storage", "Storage of each, such as 10Gi", "10Gi", "streams"),
            *_RESOLVER,
        ),
        kubernetes,
        operator=True,
    ),
    "leafnode": ConfigTemplate(
        "A leaf node of Synadia Cloud",
        (
            Question("url", "URL of the hub", "tls://connect.ngs.global"),
            Question("credentials", "File of the credentials", "ngs.creds"),
            Question("port", "Port for clients", 4222, least=1),
            Question("monitor_port", "Port for monitoring; 0: none", 0),
            Question("jetstream", "JetStream?", default=False),
            Question("store_dir", "Directory of JetStream", "data", "jetstream"),
            Question("jetstream_domain", "Domain of JetStream", "LEAF", "jetstream"),
        ),
        leafnode,
    ),
}
