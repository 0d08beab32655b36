"""Operators, accounts and users by `pyjs auth`: what is printed and left in the folders, and refusals.

`golden/nats.txt` has what the real `nats` prints and leaves for each line. What pyjs differs in on purpose is
in docs/differences.md, and among the EXCEPTIONS.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lib import recording
from lib.cli import Cli, Result
from lib.nsc_lines import Pyjs, Replay
from pyjs.keys import KeyPair, KeyRole, read_credentials
from pyjs.plugins.auth import completion

RECORDED = Path(__file__).parent / "golden" / "nats.txt"
ENV = {"XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "", "NO_COLOR": "1"}
# Where pyjs differs: the start of the line, and a part of what differs, with the reason.
EXCEPTIONS = {
    ("auth ", " .config/nats/nsc/nsc.json "): "nsc's settings, which nats does not keep",
    ("auth ", ".creds"): "the credentials, which nats does not keep",
    ("auth ", "No permissions defined"): "indented in another way",
    ("auth ", "No revocations found"): "indented in another way",
    ("auth user add bob", "Role: worker"): "nats does not show it",
    ("auth account mappings add", "Cluster:"): "nats shows that there is none",
    ("auth account add B", "_max_stream_bytes: -1"): "no limit either",
    ("auth account add B", "max_ack_pending: -1"): "no limit either",
    ("auth account edit B --jetstream", "_max_stream_bytes: -1"): "no limit either",
    ("auth account edit B --jetstream", "consumer: -1"): "nats has kept it",
    ("auth account edit B --no-jetstream", ": None, not recorded"): "nats keeps them",
    ("auth account exports", "response_type: "): "the default, which nats does not write",
}
# What is refused in folders with the account A and the user ann: (line, exit code, part of the error).
MISTAKES = (
    ("operator add OP", 4, "already exists"),
    ("operator info NOBODY", 3, 'unknown Operator "NOBODY"'),
    ("operator edit", 2, "nothing is to be changed"),
    ("operator edit --service ftp://x", 1, "protocol not supported"),
    ("operator keys rm OP OABC -f", 3, "unknown Signing Key"),
    ("account add A", 4, "already exists"),
    ("account add B --defaults --js-disk 1GB", 2, "enable it with --jetstream"),
    ("account edit A --connections -2", 2, "--connections"),
    ("account edit A", 2, "nothing is to be changed"),
    ("account edit", 2, "cannot pick an Account without a terminal"),
    ("account keys rm A --key nobody -f", 3, 'no signing key "nobody"'),
    ("account exports add x a..b A", 1, "a..b"),
    ("account exports rm x A -f", 3, "is not exported"),
    ("account imports add x y A --source A", 1, "cannot import from itself"),
    ("account imports add x y A --source NOBODY", 3, "unknown Account"),
    ("account imports rm y A -f", 3, "imports nothing as"),
    ("account mappings rm A x", 3, "No mappings defined"),
    ("account mappings add A x y 101", 2, "WEIGHT"),
    ("account mappings add A x --config m", 2, "do not go with it"),
    ("user add ann A", 4, "already exists"),
    ("user add bob A --key nobody", 1, "neither an account key nor a file"),
    ("user edit ann A", 2, "nothing is to be changed"),
    ("user info bob A", 3, 'unknown User "bob"'),
    ("user rm ann A", 2, "--force"),
    ("user credential op.jwt ann NOBODY", 3, "unknown Account"),
    ("nkey gen queen", 2, "queen"),
    ("nkey show nothing", 3, "does not exist"),
)
WITH_A_SEED = (
    "operator info SEED",
    "operator keys rm OP SEED -f",
    "account info SEED",
    "account add SEED --defaults",
    "account keys rm A --key SEED -f",
    "account exports rm SEED A -f",
    "account imports add x y A --source SEED",
    "user info SEED A",
    "user add SEED A --defaults",
    "user add bob A --key SEED",
    "nkey show SEED",
    "nkey sign SEED SEED",
    "nkey gen SEED",
)


class Auth:
    """`pyjs auth` in a home of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.cli = Cli(home)

    def run(self, line: str) -> Result:
        return self.cli.run(*line.split(), env=ENV)

    def ok(self, line: str) -> str:
        return self.cli.ok(*line.split(), env=ENV)

    def json(self, line: str) -> dict[str, object]:
        found = json.loads(self.ok(f"{line} -o json"))
        assert isinstance(found, dict)
        return found

    def refused(self, line: str, code: int) -> str:
        """Run what must be refused; nothing may have changed. Gives the error."""
        before = self.files()
        result = self.run(line)
        assert (result.code, result.out) == (code, ""), result.err
        assert self.files() == before
        return result.err

    def files(self) -> dict[str, bytes]:
        """All files but nsc's settings, which a first run writes."""
        found = (path for path in self.home.rglob("*") if path.is_file() and path.name != "nsc.json")
        return {str(path): path.read_bytes() for path in found}


@pytest.fixture
def auth(tmp_path: Path) -> Auth:
    return Auth(tmp_path)


@pytest.fixture
def stocked(auth: Auth) -> Auth:
    for line in ("operator add OP", "account add A --defaults", "user add ann A --defaults"):
        auth.ok(f"auth {line}")
    return auth


def test_lines_print_and_leave_what_nats_does(auth: Auth) -> None:
    compared = recording.Comparison(EXCEPTIONS)
    compared.play(RECORDED.read_text("utf-8"), Replay(auth.home, Pyjs(auth.cli)).play)
    assert compared.found == []
    assert compared.unused() == [], "these do not differ any more"


def test_what_auth_makes_nsc_shows_and_the_other_way_round(stocked: Auth) -> None:
    assert stocked.run("nsc validate -A").code == 0
    described = json.loads(stocked.ok("nsc describe user ann -a A -J"))
    shown = stocked.json("auth user info ann A")
    assert shown["claims"] == described
    stocked.ok("nsc add account B")
    stocked.ok("nsc add user bob -a B --allow-pub x.>")
    assert "B" in stocked.ok("auth account ls --names").split()
    assert stocked.json("auth user info bob B")["limits"] == {
        "pub": {"allow": ["x.>"]},
        "sub": {},
        "subs": -1,
        "data": -1,
        "payload": -1,
    }
    stocked.ok("nsc add operator OTHER")
    assert stocked.json("auth operator info")["name"] == "OTHER"
    stocked.ok("auth operator select OP")
    assert json.loads(stocked.ok("nsc describe operator -J"))["name"] == "OP"


def test_an_edit_changes_only_what_is_given(stocked: Auth) -> None:
    assert "forbids the use of bearer token" in stocked.refused("auth user edit ann A --bearer", 1)
    stocked.ok("auth account edit A --bearer")
    stocked.ok("auth user edit ann A --bearer --payload 64KB --subscriptions 3 --pub-allow a --pub-allow b")
    before = stocked.json("auth user info ann A")["limits"]
    assert before == {
        "pub": {"allow": ["a", "b"]},
        "sub": {},
        "subs": 3,
        "data": -1,
        "payload": 65536,
        "bearer_token": True,
    }
    stocked.ok("auth user edit ann A --tags red")
    assert stocked.json("auth user info ann A")["limits"] == before
    stocked.ok("auth user edit ann A --pub-allow c --sub-deny d --no-bearer")
    after = stocked.json("auth user info ann A")["limits"]
    assert isinstance(after, dict)
    assert (after["pub"], after["sub"]) == ({"allow": ["c"]}, {"deny": ["d"]})
    assert stocked.cli.run("auth", "user", "edit", "ann", "A", "--pub-allow", "", env=ENV).code == 0
    emptied = stocked.json("auth user info ann A")["limits"]
    assert isinstance(emptied, dict)
    assert (emptied["pub"], emptied["sub"]) == ({}, {"deny": ["d"]})


def test_nothing_but_a_backup_shows_seeds(stocked: Auth) -> None:
    for line in ("operator info", "account info A", "user info ann A"):
        for form in ("", " --json", " -o json", " -o yaml"):
            assert not any(
                word.startswith(("SO", "SA", "SU")) for word in stocked.ok(f"auth {line}{form}").split('"')
            )
    stocked.ok("auth operator backup OP op.json")
    assert (stocked.home / "op.json").stat().st_mode & 0o777 == 0o600
    document = json.loads((stocked.home / "op.json").read_text())
    assert document["key"]["key"].startswith("SO")
    assert json.loads(stocked.ok("auth operator info --json"))["accounts"][0]["name"] == "A"


def test_a_backup_comes_back_encrypted_or_not(stocked: Auth, tmp_path: Path) -> None:
    stocked.ok("auth nkey gen curve --output x.nk")
    stocked.ok("auth operator backup OP plain")
    stocked.ok("auth operator backup OP sealed --key x.nk")
    stocked.ok("auth operator info OP --json")
    for number, options in enumerate(("plain", "sealed --key x.nk")):
        other = Auth(tmp_path / str(number))
        other.home.mkdir()
        for name in ("plain", "sealed", "x.nk"):
            (other.home / name).write_bytes((stocked.home / name).read_bytes())
        wrong = "sealed" if options == "plain" else "plain --key x.nk"
        other.refused(f"auth operator restore OP {wrong}", 1)
        other.ok(f"auth operator restore OP {options}")
        line = "auth operator info OP --json"
        assert other.ok(line) == stocked.ok(line)
        assert other.run("nsc validate -A").code == 0
        assert "exists already" in other.refused(f"auth operator restore OP {options}", 1)


def test_an_operator_is_taken_over_with_its_keys(stocked: Auth, tmp_path: Path) -> None:
    folders = stocked.home / ".local/share/nats/nsc"
    seeds = sorted((folders / "keys/keys/O").rglob("*.nk"))
    other = Auth(tmp_path / "other")
    other.home.mkdir()
    token = folders / "stores/OP/OP.jwt"
    assert "not all keys" in other.refused(f"auth operator import {token} {seeds[0]}", 1)
    other.ok(f"auth operator import {token} {seeds[0]} {seeds[1]}")
    assert other.ok("auth operator keys ls") == stocked.ok("auth operator keys ls")
    assert other.ok("auth account ls") == "No Accounts found\n"
    other.ok("auth account add B --defaults")


def test_mistakes_change_nothing(stocked: Auth) -> None:
    for line, code, text in MISTAKES:
        assert text in stocked.refused(f"auth {line}", code), line


def test_a_seed_in_a_wrong_place_is_not_repeated(stocked: Auth) -> None:
    seed, before = KeyPair.create(KeyRole.ACCOUNT).seed, stocked.files()
    for line in WITH_A_SEED:
        result = stocked.run(f"auth {line}".replace("SEED", seed))
        assert result.code != 0 and stocked.files() == before, line
        assert seed not in result.out + result.err, line


def test_a_role_says_what_its_users_may_do(stocked: Auth) -> None:
    stocked.ok("auth account keys add A clerk --pub-allow o.>")
    stocked.refused("auth user add bob A --key clerk --pub-allow x", 1)
    stocked.ok("auth user add bob A --key clerk")
    assert stocked.json("auth user info bob A")["scoped"] is True
    assert stocked.json("auth account keys info A clerk")["role"] == "clerk"
    stocked.ok("auth account keys add A clerk")
    assert "several signing keys have the role" in stocked.refused("auth account keys info A clerk", 2)
    key = stocked.json("auth user info bob A")["claims"]
    assert isinstance(key, dict)
    removed = stocked.run(f"auth account keys rm A --key {key['iss']} -f")
    assert removed.out == f'key "{key["iss"]}" removed\n'
    assert "it signed the users bob" in removed.err


def test_credentials_are_written_once_and_for_their_owner_only(stocked: Auth) -> None:
    stocked.ok("auth user credential ann.creds ann A --expire 1h")
    path = stocked.home / "ann.creds"
    assert path.stat().st_mode & 0o777 == 0o600
    assert "already exists" in stocked.refused("auth user credential ann.creds ann A", 4)
    assert "already exists" in stocked.refused("auth user add eve A --defaults --credential ann.creds", 4)
    first = read_credentials(path)
    stocked.ok("auth user credential ann.creds ann A -f")
    assert read_credentials(path).key.public_key == first.key.public_key
    assert read_credentials(path).jwt != first.jwt


def test_mappings_come_from_a_file(stocked: Auth) -> None:
    path = stocked.home / "m.yaml"
    for content, text in (
        ("- x", "holds no mappings"),
        ("a: b", "needs a list"),
        ("a: [{subject: b, wieght: 3}]", "a target of a has"),
        ("a: [{subject: b, weight: 60}, {subject: c, weight: 50}]", "exceeds 100%"),
        ("a: [", "neither JSON nor YAML"),
    ):
        path.write_text(content)
        assert text in stocked.refused("auth account mappings add A --config m.yaml", 1)
    path.write_text('{"a": [{"Subject": "b", "Weight": 60, "Cluster": ""}, {"subject": "c", "weight": 40}]}')
    stocked.ok("auth account mappings add A --config m.yaml")
    listed = json.loads(stocked.ok("auth account mappings ls A -o json"))
    assert [(each["target"], each["weight"]) for each in listed] == [("b", 60), ("c", 40)]
    path.write_text(stocked.ok("auth account mappings info A a --json"))
    before = stocked.ok("auth account mappings ls A")
    stocked.ok("auth account mappings add A --config m.yaml")
    assert stocked.ok("auth account mappings ls A") == before


def test_keys_sign_verify_and_seal(auth: Auth) -> None:
    pair, reader = KeyPair.create(KeyRole.USER), KeyPair.create(KeyRole.CURVE)
    for name, text in (
        ("u.nk", pair.seed),
        ("u.pub", pair.public_key),
        ("x.nk", reader.seed),
        ("data", "hello"),
    ):
        (auth.home / name).write_text(f"{text}\n")
    assert auth.ok("auth nkey show u.nk") == f"{pair.public_key}\n"
    (auth.home / "sig").write_text(auth.ok("auth nkey sign data u.nk"))
    for key in ("u.nk", "u.pub"):
        assert auth.ok(f"auth nkey verify data sig {key}") == "Verified OK\n"
    assert "verification failed" in auth.refused("auth nkey verify u.pub sig u.nk", 4)
    assert "this needs the seed" in auth.refused("auth nkey sign data u.pub", 1)
    for options in ("", " --no-b64"):
        auth.ok(f"auth nkey seal data x.nk {reader.public_key} --output sealed{options}")
        auth.ok(f"auth nkey unseal sealed x.nk {reader.public_key} --output opened{options}")
        assert (auth.home / "opened").read_bytes() == b"hello\n"
    assert "is no base64" in auth.refused(f"auth nkey open sealed x.nk {reader.public_key}", 1)
    assert "invalid public key" in auth.refused(f"auth nkey seal data x.nk {pair.public_key}", 1)
    (auth.home / "short").write_text("too short")
    assert "only 9 of the 32 bytes" in auth.refused("auth nkey gen user --entropy short", 1)
    assert auth.ok("auth nkey gen server --public").split()[1].startswith("N")


def test_a_damaged_token_is_listed_and_named(stocked: Auth) -> None:
    token = stocked.home / ".local/share/nats/nsc/stores/OP/accounts/A/A.jwt"
    token.write_text(token.read_text()[:-4] + "AAAA")
    listed = json.loads(stocked.ok("auth account ls -o json"))
    assert [(each["name"], bool(each["error"])) for each in listed] == [("A", True), ("SYSTEM", False)]
    assert "A.jwt is damaged" in stocked.refused("auth account info A", 1)
    key = KeyPair.create(KeyRole.ACCOUNT).public_key
    assert "unknown Account" in stocked.refused(f"auth account info {key}", 3)
    assert stocked.ok(f"auth account info {listed[1]['subject']}").startswith("Account SYSTEM (")


def test_a_buckets_subjects_are_shared_together(stocked: Auth) -> None:
    stocked.ok("auth account add B --defaults")
    exported = stocked.ok("auth account exports kv CONFIG --account A")
    assert exported.count("Exporting") == 5
    assert "already exports" in stocked.refused("auth account exports kv CONFIG --account A", 1)
    imported = stocked.ok("auth account imports kv CONFIG FROM.A A --account B")
    assert "Importing Service Subject: FROM.A.$KV.CONFIG.>" in imported
    shares = json.loads(stocked.ok("auth account imports ls B -o json"))
    assert {each["name"] for each in shares} == {"KV_CONFIG"}
    assert len(shares) == 5


def test_names_are_completed(stocked: Auth, monkeypatch: pytest.MonkeyPatch) -> None:
    import click

    for name, value in {**ENV, "HOME": str(stocked.home)}.items():
        monkeypatch.setenv(name, value)
    context, param = click.Context(click.Command("x")), click.Argument(["x"])
    assert completion.operators(context, param, "O") == ["OP"]
    assert completion.accounts(context, param, "") == ["A", "SYSTEM"]
    assert completion.users(context, param, "a") == ["ann"]
    context.params["operator"] = "NOBODY"
    assert completion.accounts(context, param, "") == []


def test_what_is_not_given_is_asked_for(auth: Auth) -> None:
    auth.ok("auth operator add OP")
    shown = asked(
        auth,
        "account add --jetstream --js-memory 0",
        ("Account Name", "A"),
        ("Maximum Connections", "12"),
        ("Maximum Subscriptions", "x"),
        ("Maximum Subscriptions", ""),
        ("Maximum Message Payload", "64KB"),
        ("Maximum JetStream Disk Storage", "2GB"),
    )
    assert '"x" is not a whole number' in shown
    limits = "--connections=12 --subscriptions=-1 --payload=64KB --js-disk=2GB"
    assert f"pyjs auth account add --jetstream --js-memory 0 A {limits}" in shown
    auth.ok("auth user add ann A --defaults")
    shown = asked(auth, "user info", ("Select an Account", ""), ("Select a User", ""))
    assert "User ann (U" in shown and "pyjs auth user info ann A" in shown
    shown = asked(auth, "user rm ann A", ("Really remove the User ann", "n"))
    assert auth.ok("auth user ls A --names") == "ann\n"


def asked(auth: Auth, line: str, *answers: tuple[str, str]) -> str:
    """Run a line on a terminal and answer its questions; what it shows at the end, stderr too."""
    with auth.cli.terminal(["auth", *line.split()], env=ENV) as terminal:
        for question, answer in answers:
            terminal.answer(question, answer)
        code = terminal.finish()
        shown = "\n".join(terminal.lines()) + "\n" + terminal.errors()
    assert code == 0, shown
    return shown


def test_a_key_of_the_operator_signs_an_account(stocked: Auth) -> None:
    (key,) = stocked.ok("auth operator keys ls").split()
    stocked.ok(f"auth account add B --defaults --key {key}")
    claims = stocked.json("auth account info B")["claims"]
    assert isinstance(claims, dict) and claims["iss"] == key
    removed = stocked.run(f"auth operator keys rm OP {key} -f")
    assert "it signed the accounts B" in removed.err
    stocked.ok("auth account edit B --connections 3")
    claims = stocked.json("auth account info B")["claims"]
    assert isinstance(claims, dict) and claims["iss"] != key


def test_accounts_of_somebody_elses_operator_sign_themselves(stocked: Auth, tmp_path: Path) -> None:
    other = Auth(tmp_path / "other")
    other.home.mkdir()
    token = stocked.home / ".local/share/nats/nsc/stores/OP/OP.jwt"
    other.ok(f"nsc add operator -u {token}")
    made = other.run("auth account add MINE --defaults -o name")
    assert (made.code, made.out) == (0, "MINE\n")
    assert "exchange self-signed JWT manually" in made.err
    assert "unable to resolve any of the following signing keys" in other.refused("auth operator keys add", 1)
    saved = other.run("auth operator backup OP saved")
    assert saved.err.count("is not stored, so that it is not in the backup") == 2
    third = Auth(tmp_path / "third")
    third.home.mkdir()
    (third.home / "saved").write_bytes((other.home / "saved").read_bytes())
    third.ok("auth operator restore OP saved")
    third.ok("auth account edit MINE --connections 3")
