"""Files made from a store: credentials, configurations that a server takes, contexts, keys, profiles."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from lib.cli import Cli, Result
from lib.nsc_folders import NscFolders
from pyjs.keys import AccountClaims, ActivationClaims, Export, Import, OperatorClaims, UserScope, encode
from pyjs.keys.claims import Template
from pyjs.server.config.parser import parse_text
from pyjs.server.config.tree import ConfigNode


class Tool:
    """`pyjs nsc -H <folders>` with an operator that has SYS and accounts A and B."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folders = NscFolders(home / "nsc", "A", "B", "SYS")
        self.folders.keystore.add(self.folders.add_user("A", "ann"))
        self.cli = Cli(home, "nsc", "-H", str(home / "nsc"))
        self.operator(system_account=self.folders.key("SYS"), operator_service_urls=["nats://one:4222"])

    def operator(self, **fields: Any) -> None:
        claims: OperatorClaims = self.folders.store.operator()
        for name, value in fields.items():
            setattr(claims.nats, name, value)
        token = encode(claims, self.folders.operator, now=self.folders.now)
        self.folders.store.write_operator(token)

    def run(self, *words: str) -> Result:
        return self.cli.run(*words, env={"XDG_CONFIG_HOME": ""})

    def ok(self, *words: str) -> str:
        result = self.run(*words)
        assert result.code == 0, result.err
        return result.out

    def refused(self, *words: str) -> str:
        before = self.content()
        result = self.run(*words)
        assert result.code != 0 and self.content() == before and "Traceback" not in result.err
        return result.err

    def content(self) -> dict[str, bytes]:
        files = [p for p in self.home.rglob("*") if p.is_file()]
        return {str(p.relative_to(self.home)): p.read_bytes() for p in files}


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    made = Tool(tmp_path)
    made.ok("validate")  # the first run writes the settings
    return made


def read(text: str) -> Any:
    """A configuration as a server reads it."""

    def plain(value: Any) -> Any:
        value = value.value if isinstance(value, ConfigNode) else value
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, list) else value

    return plain(parse_text(text, {}))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_credentials_hold_token_and_seed(tool: Tool) -> None:
    text = tool.ok("generate", "creds", "-a", "A", "-n", "ann")
    token, seed = tool.folders.store.user_token("A", "ann"), "-----BEGIN USER NKEY SEED-----\nSU"
    assert token in text and seed in text and text.endswith("*\n\n")
    target = tool.home / "ann.creds"
    output = tool.ok("generate", "creds", "-a", "A", "-o", str(target))
    assert output.splitlines() == [
        "[ OK ] wrote credentials to `~/ann.creds`",
        "Success!! - generated `~/ann.creds`",
    ]
    assert target.read_text() == text[:-1] and mode(target) == 0o600


def test_credentials_need_a_user_and_its_seed(tool: Tool) -> None:
    assert "account A has no user nope" in tool.refused("generate", "creds", "-a", "A", "-n", "nope")
    assert "a user is required" in tool.refused("generate", "creds", "-a", "B")
    tool.folders.keystore.remove(tool.folders.store.user("A", "ann").sub)
    assert "is not in the keystore" in tool.refused("generate", "creds", "-a", "A", "-n", "ann")


def test_the_memory_configuration_has_all_accounts(tool: Tool) -> None:
    config = read(tool.ok("generate", "config", "--mem-resolver"))
    store = tool.folders.store
    assert config["operator"] == store.operator_token() and config["resolver"] == "MEMORY"
    assert config["system_account"] == tool.folders.key("SYS")
    assert config["resolver_preload"] == {
        tool.folders.key(a): store.account_token(a) for a in ("A", "B", "SYS")
    }


@pytest.mark.parametrize("kind", ["nats-resolver", "nats-resolver-cache"])
def test_the_nats_configurations_have_the_system_account_alone(tool: Tool, kind: str) -> None:
    config = read(tool.ok("generate", "config", f"--{kind}"))
    assert config["resolver"]["type"] == ("full" if kind == "nats-resolver" else "cache")
    key = tool.folders.key("SYS")
    assert config["resolver_preload"] == {key: tool.folders.store.account_token("SYS")}
    assert read(tool.ok("generate", "config", f"--{kind}", "--sys-account", "B"))["system_account"] == (
        tool.folders.key("B")
    )
    tool.operator(system_account="")
    assert "system account is not set" in tool.refused("generate", "config", f"--{kind}")


def test_a_configuration_is_never_written_over_another(tool: Tool) -> None:
    target = tool.home / "server.conf"
    words = ("generate", "config", "--mem-resolver", "--config-file", str(target))
    assert "Success!! - generated `~/server.conf`" in tool.ok(*words)
    target.write_text("mine")
    assert "already exists" in tool.refused(*words)
    tool.ok(*words, "--force")
    assert target.read_text().startswith("// Operator") and mode(target) == 0o600


def test_a_folder_has_a_configuration_and_the_tokens(tool: Tool) -> None:
    tool.folders.add_account("OP")  # called as its operator
    target = tool.home / "site"
    words = ("generate", "config", "--mem-resolver", "--dir", str(target))
    tool.ok(*words)
    files = {path.name for path in target.iterdir()}
    assert files == {"OP.jwt", f"{tool.folders.key('OP')}.jwt", "A.jwt", "B.jwt", "SYS.jwt", "resolver.conf"}
    assert (target / "OP.jwt").read_text() == tool.folders.store.operator_token()
    assert read((target / "resolver.conf").read_text())["operator"] == "OP.jwt"
    assert "already exists" in tool.refused(*words)
    tool.ok(*words, "--force")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), "specify a config type option"),
        (("--mem-resolver", "--nats-resolver"), "one config at a time"),
        (("--nats-resolver", "--dir", "x"), "--dir is only valid with --mem-resolver"),
        (("--mem-resolver", "--dir", "x", "--config-file", "y"), "--dir is exclusive"),
        (("--mem-resolver", "--sys-account", "nope"), "no account nope"),
        (("--nkey", "--sys-account", "A"), "don't support system account"),
        (("--mem-resolver", "--config-file", "/proc/none/x"), "cannot create"),
    ],
)
def test_configurations_that_cannot_be_made(tool: Tool, words: tuple[str, ...], error: str) -> None:
    assert error in tool.refused("generate", "config", *words)


def test_a_damaged_account_gives_no_configuration(tool: Tool) -> None:
    path = tool.folders.store.account_path("B")
    path.write_text(path.read_text()[:100])
    for kind in ("--mem-resolver", "--nats-resolver", "--nkey"):
        assert "is damaged" in tool.refused("generate", "config", kind, "--config-file", str(tool.home / "c"))


def test_an_operator_without_accounts_has_no_configuration(tmp_path: Path) -> None:
    NscFolders(tmp_path / "nsc")
    result = Cli(tmp_path, "nsc", "-H", str(tmp_path / "nsc")).run("generate", "config", "--mem-resolver")
    assert result.code == 1 and 'operator "OP" has no accounts' in result.err


def shared(folders: NscFolders) -> AccountClaims:
    """A exports, B imports; B's user works by a template."""
    exporter, importer = folders.claims("A"), folders.claims("B")
    exporter.nats.exports = [
        Export(subject="open.>", type="stream"),
        Export(subject="own.*", type="service", response_type="Stream", account_token_position=2),
        Export(subject="$priv.>", type="stream", token_req=True),
    ]
    folders.change(exporter)
    activation = ActivationClaims.new(importer.sub, "$priv.x", "stream")
    key = folders.keystore.get(exporter.sub)
    importer.nats.imports = [
        Import(subject="open.a", account=exporter.sub, type="stream", local_subject="loc.a"),
        Import(
            subject="$priv.x",
            account=exporter.sub,
            type="stream",
            token=encode(activation, key, now=folders.now),
        ),
    ]
    return importer


def test_a_configuration_without_tokens(tool: Tool) -> None:
    importer = shared(tool.folders)
    signer = tool.folders.keystore.get(importer.sub)
    template = Template()
    template.pub.allow = ["to.{{name()}}"]
    importer.nats.signing_keys = {signer.public_key: UserScope(key=signer.public_key, template=template)}
    tool.folders.change(importer)
    tool.folders.add_user("B", "bob")
    config = read(tool.ok("generate", "config", "--nkey"))
    accounts = config["accounts"]
    ann, bob = (tool.folders.store.user(a, u).sub for a, u in (("A", "ann"), ("B", "bob")))
    assert config["system_account"] == "SYS" and accounts["A"]["users"] == [{"nkey": ann}]
    assert accounts["A"]["exports"] == [
        {"stream": "$priv.>", "accounts": ["B"]},
        {"stream": "open.>"},
        {"service": "own.*", "response_type": "Stream", "account_token_position": 2},
    ]
    assert accounts["B"]["users"] == [{"nkey": bob, "permissions": {"publish": {"allow": ["to.bob"]}}}]
    assert accounts["B"]["imports"] == [
        {"stream": {"account": "A", "subject": "$priv.x"}},
        {"stream": {"account": "A", "subject": "open.a"}, "to": "loc.a"},
    ]
    tool.folders.store.remove_account("A")
    assert "unable to resolve account" in tool.refused("generate", "config", "--nkey")


def test_a_context_has_the_credentials_and_is_not_overwritten(tool: Tool) -> None:
    words = ("generate", "context", "-a", "A", "-u", "ann", "--context", "mine")
    assert "`nsc generate creds -o`" in tool.refused(*words)
    token = tool.folders.store.user_token("A", "ann")
    seed = tool.folders.keystore.get(tool.folders.store.user("A", "ann").sub).seed
    creds = tool.folders.keystore.write_credentials("OP", "A", "ann", token, seed)
    assert "wrote nats cli context file" in tool.ok(*words)
    path = tool.home / ".config/nats/context/mine.json"
    expected = {"nsc": "nsc://OP/A/ann", "url": "nats://one:4222", "creds": str(creds)}
    assert json.loads(path.read_text()) == expected and mode(path) == 0o600
    assert "already exists" in tool.refused(*words)
    assert "invalid context name" in tool.refused(*words[:-1], "../x")
    assert "context name is required" in tool.refused(*words[:-2])


def test_new_keys_are_shown_or_stored(tool: Tool) -> None:
    lines = tool.ok("generate", "nkey", "-o", "-a", "-u", "-x").split("\n\n")
    assert [(pair.split("\n")[0][:2], pair.split("\n")[1][0]) for pair in lines if pair.strip()] == [
        ("SO", "O"),
        ("SA", "A"),
        ("SU", "U"),
        ("SX", "X"),
    ]
    stored = json.loads(tool.ok("generate", "nkey", "-a", "-S", "--json"))[0]
    assert "seed" not in stored and mode(Path(stored["path"])) == 0o600
    assert tool.folders.keystore.get(stored["public_key"]).role.word == "account"
    assert "set --operator" in tool.refused("generate", "nkey")


def test_profiles_tell_what_is_asked(tool: Tool) -> None:
    def profile(url: str) -> Any:
        return json.loads(tool.ok("generate", "profile", url))

    store = tool.folders.store
    ann = store.user("A", "ann").sub
    assert profile("nsc://op") == {"operator": {"service": ["nats://one:4222"]}}
    assert profile("nsc://OP/a/ANN?key") == {
        "operator": {"service": ["nats://one:4222"]},
        "user": {"id": ann},
    }
    output = profile(f"nsc://{store.operator().sub}/{tool.folders.key('A')}/{ann}?names&keys&seeds")
    assert [output[part]["name"] for part in ("operator", "account", "user")] == ["OP", "A", "ann"]
    assert output["account"]["id"] == tool.folders.key("A") and output["user"]["seed"].startswith("SU")
    assert profile(f"nsc://OP/A?accountSeed={tool.folders.key('A')}")["account"]["seed"].startswith("SA")
    other = f"nsc://OP?keystore={tool.home / 'none'}&operatorSeed"
    assert "no seed was found" in tool.refused("generate", "profile", other)


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("http://OP", "expecting 'nsc://'"),
        ("nsc://", "expecting an operator name"),
        ("nsc://OP/A/u/x", "expecting nsc://operator/account/user"),
        ("nsc://nope", "not known"),
        ("nsc://OP/nope", "account was not found"),
        ("nsc://OP/A/nope", "user was not found"),
        ("nsc://OP/A?accountSeed=AXX", "was not found"),
    ],
)
def test_profiles_of_nothing(tool: Tool, url: str, error: str) -> None:
    assert error in tool.refused("generate", "profile", url)
