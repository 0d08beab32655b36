"""`pyjs export`, `plan` and `apply` as users run them, on both servers."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lib.cli import PYJS, Cli
from lib.jetstream import JetStream
from lib.process import ServerProcess
from lib.provision_documents import clear

ORDERS = """
streams:
  ORDERS:
    subjects: [ORDERS.*]
    max_age: 1y
    consumers:
      NEW: {ack_policy: explicit, filter_subject: ORDERS.received}
  COPY:
    mirror: ORDERS
kv:
  settings: {history: 5}
objects:
  files: {}
"""
PLAN = """\
+ create   stream ORDERS
    subjects: ORDERS.*
    max_age: 365d
+ create   stream COPY
    mirror: ORDERS
+ create   kv settings
    history: 5
+ create   object files
+ create   consumer ORDERS > NEW
    ack_policy: explicit
    filter_subjects: ORDERS.received

Plan: 5 to create.
"""


@pytest.fixture(autouse=True)
def _nothing_left(cli: Cli) -> Iterator[None]:
    yield
    for name in cli.ok("stream", "ls", "--all", "--names").split():
        cli.ok("stream", "rm", name, "--force")


def write(tmp_path: Path, text: str, name: str = "orders.yaml") -> str:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_plan_apply_and_export(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path, ORDERS)
    planned = cli.run("plan", "-f", file)
    assert (planned.out, planned.code) == (PLAN, 5)
    assert cli.ok("apply", "-f", file).splitlines() == [
        "created stream ORDERS",
        "created stream COPY",
        "created kv settings",
        "created object files",
        "created consumer ORDERS > NEW",
    ]
    assert cli.ok("plan", "-f", file) == "Plan: 5 as declared.\n"
    assert cli.ok("apply", "-f", file) == "Everything is as declared.\n"
    cli.ok("export", "--all", "out")
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == [
        "kv-settings.yaml",
        "object-files.yaml",
        "stream-COPY.yaml",
        "stream-ORDERS.yaml",
    ]
    assert (tmp_path / "out/kv-settings.yaml").read_text() == "kv:\n  settings:\n    history: 5\n"
    assert cli.ok("plan", "-f", "out") == "Plan: 5 as declared.\n"


def test_drift_is_shown_field_by_field(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path, ORDERS)
    cli.ok("apply", "-f", file)
    cli.ok("stream", "edit", "ORDERS", "--max-age=2h", "--dupe-window=1m", "--force")
    planned = cli.run("plan", "-f", file, "--output", "json")
    (changed,) = [each for each in json.loads(planned.out)["actions"] if each["action"] != "nothing"]
    assert planned.code == 5
    assert (changed["kind"], changed["name"]) == ("stream", "ORDERS")
    assert sorted(each["field"] for each in changed["changes"]) == ["duplicate_window", "max_age"]
    assert "max_age: 2h -> 365d" in cli.run("plan", "-f", file).out


def test_a_plan_file_is_refused_when_the_world_has_changed(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path, ORDERS)
    assert cli.run("plan", "-f", file, "-o", "plan.json").code == 5
    cli.ok("stream", "add", "COPY", "--subjects=copy", "--defaults")
    refused = cli.run("apply", "plan.json")
    assert refused.code == 5
    assert "COPY: was 'create', is 'replace' now" in refused.err
    assert cli.ok("stream", "ls", "--names").split() == ["COPY"]
    cli.ok("stream", "rm", "COPY", "--force")
    assert "created stream COPY" in cli.ok("apply", "plan.json")


def test_a_form_is_no_file_and_a_file_no_form(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path, ORDERS)
    before = sorted(tmp_path.iterdir())
    for form in ("json", "yaml", "name", "csv", "md", "ndjson", "table"):
        assert cli.run("plan", "-f", file, "-o", form).code == 5
    assert json.loads(cli.run("plan", "-f", file, "-o", "json").out)["differs"] is True
    refused = cli.run("plan", "-f", file, "-o", "plan")
    assert refused.code == 2
    assert "neither a form" in refused.err and "./plan" in refused.err
    assert cli.run("plan", "-f", file, "-o", "a.json", "--out", "b.json").code == 2
    assert sorted(tmp_path.iterdir()) == before
    written = [
        ("-o", "./json"),
        ("--output", "plan.json"),
        ("--out", "plan"),
        ("--out", "yaml", "-o", "json"),
    ]
    for flags in written:
        planned = cli.run("plan", "-f", file, *flags)
        assert planned.code == 5
        assert planned.out.startswith("{") == (len(flags) == 4)
    names = {each.name for each in tmp_path.iterdir()} - {each.name for each in before}
    assert names == {"json", "plan.json", "plan", "yaml"}
    assert "created stream COPY" in cli.ok("apply", "yaml")


def test_an_owner_of_no_document_is_pruned_with_a_warning(cli: Cli, tmp_path: Path) -> None:
    theirs = write(tmp_path, "owner: shop\nstreams: {A: {subjects: [a]}}\n")
    cli.ok("apply", "-f", theirs)
    said = "no document is other's, they are shop's: all that other has"
    assert said in cli.run("plan", "-f", theirs, "--prune", "--owner", "other").err
    assert "is to be deleted" not in cli.run("plan", "-f", theirs, "--prune", "--owner", "shop").err
    nobodys = write(tmp_path, "streams: {B: {subjects: [b]}}\n")
    assert "is to be deleted" not in cli.run("plan", "-f", nobodys, "--prune", "--owner", "shop").err


def test_paths_of_documents_are_named_by_f(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path, ORDERS)
    for words, line in (
        (("plan", file), f"plan -f {file}"),
        (("apply", file), f"apply -f {file}"),
        (("apply", "."), "apply -f ."),
    ):
        wrong = cli.run(*words)
        assert (wrong.code, wrong.out) == (2, "")
        assert f"{line}'" in wrong.err
    written = cli.run("plan", "-f", file, "-o", "plan.json")
    assert "The plan is in plan.json: " in written.err and "apply plan.json' does it" in written.err


def test_only_what_the_owner_has_is_pruned(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path, ORDERS)
    cli.ok("apply", "-f", file, "--owner=shop")
    cli.ok("stream", "add", "OTHER", "--subjects=other", "--defaults")
    cli.ok("pub", "ORDERS.received", "an order", "--jetstream")
    write(tmp_path, "kv:\n  settings: {history: 5}\n")
    assert "--prune needs --owner" in cli.run("apply", "-f", file, "--prune").err
    refused = cli.run("apply", "-f", file, "--prune", "--owner=shop")
    assert refused.code == 4
    assert "ORDERS: its only message" in refused.err
    pruned = cli.ok("apply", "-f", file, "--prune", "--owner=shop", "--allow-loss=all")
    assert sorted(pruned.splitlines()) == [
        "deleted object files",
        "deleted stream COPY",
        "deleted stream ORDERS",
    ]
    assert cli.ok("stream", "ls", "--all", "--names").split() == ["KV_settings", "OTHER"]
    assert "settings belongs to shop, not to others" in cli.run("plan", "-f", file, "--owner=others").err


def test_the_files_of_nats_are_documents(cli: Cli, tmp_path: Path) -> None:
    cli.ok("stream", "add", "ORDERS", "--subjects=ORDERS.*", "--max-age=1h", "--defaults")
    cli.ok("consumer", "add", "ORDERS", "NEW", "--pull", "--ack=explicit", "--defaults")
    (tmp_path / "nats").mkdir()
    write(tmp_path, cli.ok("stream", "info", "ORDERS", "--json"), "nats/stream_ORDERS.json")
    info = json.loads(cli.ok("consumer", "info", "ORDERS", "NEW", "--json"))
    write(tmp_path, json.dumps(info["config"]), "nats/stream_ORDERS_consumer_NEW.json")
    assert cli.ok("plan", "-f", "nats") == "Plan: 2 as declared.\n"
    cli.ok("stream", "rm", "ORDERS", "--force")
    cli.ok("apply", "-f", "nats")
    assert cli.ok("plan", "-f", "nats") == "Plan: 2 as declared.\n"
    write(tmp_path, json.dumps(info["config"]), "nats/new.json")
    assert "does not say which stream the consumer is of" in cli.run("plan", "-f", "nats").err


def test_mistakes_name_their_place(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, "streams:\n  ORDERS:\n    max_ages: 1y\n    max_bytes: 1 MB\n", "a.yaml")
    write(tmp_path, "streams:\n  OR.DERS: {}\n", "b.yaml")
    found = cli.run("plan", "-f", "a.yaml", "-f", "b.yaml")
    assert found.code == 1
    assert "a.yaml:3:5: streams.ORDERS.max_ages: is no field here (did you mean max_age or" in found.err
    assert "a.yaml:4:5: streams.ORDERS.max_bytes:" in found.err
    assert "b.yaml:2:3: streams.OR.DERS: is no name" in found.err
    *places, summary = found.err.splitlines()
    assert len(places) == 3 and not any(each.startswith("pyjs:") for each in places)
    assert summary == "pyjs: error: 3 mistakes in 2 documents: nothing was done"
    assert cli.run("plan", "-f", "b.yaml").err.startswith("pyjs: error: b.yaml:2:3: ")


def test_a_text_in_place_of_a_list_is_told_how_to_be_written(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path, "streams:\n  A:\n    subjects: a.*\n")
    found = cli.run("plan", "-f", file)
    assert (found.code, found.err) == (
        1,
        f'pyjs: error: {file}:3:5: streams.A.subjects: has to be a list\nhint: write ["a.*"]\n',
    )
    write(tmp_path, 'streams:\n  A:\n    subjects: ["a.*"]\n')
    assert cli.run("plan", "-f", file).code == 5


def test_names_of_what_is_to_be_done_and_was_done(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path, ORDERS)
    names = ["ORDERS", "COPY", "settings", "files", "ORDERS > NEW"]
    planned = cli.run("plan", "-f", file, "--output", "name")
    assert (planned.out.splitlines(), planned.code) == (names, 5)
    assert cli.ok("apply", "-f", file, "--output", "name").splitlines() == names
    assert cli.ok("plan", "-f", file, "--output", "name") == ""


def test_an_origin_that_is_not_there_is_told(cli: Cli, tmp_path: Path) -> None:
    sources = "[A, NONE, {name: X, external: {api: imported.API}}, {name: Y, domain: silent}]"
    file = write(tmp_path, f"streams:\n  A: {{}}\n  B: {{mirror: GONE}}\n  C: {{sources: {sources}}}\n")
    rest = "which is not there and not declared: nothing is copied before it exists"
    warned = [
        f"pyjs: warning: B has the mirror GONE, {rest}",
        f"pyjs: warning: C has the source NONE, {rest}",
    ]
    planned = cli.run("plan", "-f", file)
    assert (planned.code, planned.err.splitlines()) == (5, warned)
    told = json.loads(cli.run("plan", "-f", file, "--output", "json").out)["warnings"]
    assert [f"pyjs: warning: {each}" for each in told] == warned
    applied = cli.run("apply", "-f", file)
    assert (applied.code, applied.err.splitlines()) == (0, warned)
    cli.ok("stream", "add", "GONE", "--subjects=gone", "--defaults")
    assert cli.run("plan", "-f", file).err.splitlines() == warned[1:]


def test_the_first_failure_ends_it_and_says_what_was_not_begun(cli: Cli, tmp_path: Path) -> None:
    streams: dict[str, dict[str, int]] = {"A": {}, "B": {"num_replicas": 3}, "C": {}}
    file = write(tmp_path, json.dumps({"streams": streams}))
    failed = cli.run("apply", "-f", file)
    assert failed.code == 1
    assert failed.out.splitlines() == ["created stream A", "not begun: create stream C"]
    assert "could not create stream B: replicas > 1 not supported in non-clustered mode (10074)" in failed.err
    reported = json.loads(cli.run("apply", "-f", file, "--output", "json").out)
    assert {key: [each["name"] for each in reported[key]] for key in reported} == {
        "done": [],
        "failed": ["B"],
        "not_begun": ["C"],
    }
    del streams["B"]["num_replicas"]
    file = write(tmp_path, json.dumps({"streams": streams}))
    assert cli.ok("apply", "-f", file).splitlines() == ["created stream B", "created stream C"]


def test_a_subject_that_another_stream_has_is_refused_by_the_plan(cli: Cli, tmp_path: Path) -> None:
    cli.ok("stream", "add", "TAKEN", "--subjects=orders.*", "--defaults")
    file = write(tmp_path, "streams: {A: {}, B: {subjects: [orders.new]}}")
    refused = cli.run("plan", "-f", file)
    assert refused.code == 4
    assert "B and TAKEN would both store messages on orders.new and orders.*" in refused.err
    assert "two streams cannot store the same subject" in cli.run("apply", "-f", file).err
    assert cli.ok("stream", "ls", "--names").split() == ["TAKEN"]


def test_a_refused_loss_names_the_flags_that_allow_it(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path, ORDERS)
    cli.ok("apply", "-f", file, "--owner=shop")
    cli.ok("pub", "ORDERS.received", "an order", "--jetstream")
    file = write(tmp_path, ORDERS.replace("ack_policy: explicit", "ack_policy: all"))
    refused = cli.run("apply", "-f", file, "--owner=shop")
    assert "hint: --allow-loss 'ORDERS > NEW' allows it; --allow-loss all allows everything" in refused.err
    assert cli.ok("apply", "-f", file, "--owner=shop", "--allow-loss=ORDERS > NEW").splitlines() == [
        "replaced consumer ORDERS > NEW"
    ]


def test_the_owners_of_documents_are_named_to_who_forgot_them(cli: Cli, tmp_path: Path) -> None:
    file = write(tmp_path, "owner: shop\nstreams: {A: {}}\n")
    refused = cli.run("plan", "-f", file, "--prune")
    assert refused.code == 2
    assert "is ever deleted; the documents' own: --owner shop" in refused.err


@pytest.mark.parametrize("implementation", ["pyjs"], indirect=True)
def test_ctrl_c_says_how_far_it_was(cli: Cli, server: ServerProcess, tmp_path: Path) -> None:
    streams = {f"S{n}": {"storage": "memory"} for n in range(400)}
    file = write(tmp_path, json.dumps({"streams": streams}), "many.json")
    line = [*PYJS, *cli.flags, "apply", "-f", file]
    environment = cli.environment({"PYTHONUNBUFFERED": "1"})
    with subprocess.Popen(line, env=environment, text=True, stdout=-1, stderr=-1, cwd=tmp_path) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "created stream S0\n"
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    done = 1 + len(out.splitlines())
    assert (run.returncode, done < 400) == (130, True)
    assert f"interrupt: {done} actions were done; what is done stays; 'apply' goes on from here" in err
    rest = cli.ok("apply", "-f", file).splitlines()
    assert 400 - done - 1 <= len(rest) <= 400 - done  # the one that was asked for when it ended may be there
    with JetStream.of(server) as js:
        clear(js)


def test_names_that_no_file_can_have_are_exported(cli: Cli, tmp_path: Path) -> None:
    names = ["N" * 255, "ü" * 110]
    streams = {name: {"subjects": [f"s{n}"]} for n, name in enumerate(names)}
    cli.ok("apply", "-f", write(tmp_path, json.dumps({"streams": streams}), "names.json"))
    cli.ok("export", "--all", "out")
    assert len(list((tmp_path / "out").iterdir())) == 2
    assert cli.ok("plan", "-f", "out") == "Plan: 2 as declared.\n"


def test_accounts_are_declared_beside_streams(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    cli.ok("nsc", "add", "operator", "OP")
    file = write(
        tmp_path, "accounts:\n  SHOP:\n    limits: {conn: 5}\n    users:\n      alice: {pub: {allow: [a]}}\n"
    )
    planned = cli.run("plan", "-f", file)
    assert planned.code == 5
    assert planned.out == (
        "+ create   account SHOP\n    limits.conn: 5\n"
        "+ create   user SHOP > alice\n    pub.allow: a\n\nPlan: 2 to create.\n"
    )
    assert cli.ok("apply", "-f", file).splitlines() == [
        "created account SHOP",
        "created user SHOP > alice",
        "'pyjs nsc push --all' sends the accounts to the servers",
    ]
    assert cli.ok("plan", "-f", file) == "Plan: 2 as declared.\n"
    cli.ok("export", "--accounts", "--all", "out")
    assert (tmp_path / "out/account-SHOP.yaml").read_text().startswith("operator: OP\naccounts:\n  SHOP:\n")
    assert cli.ok("plan", "-f", "out") == "Plan: 2 as declared.\n"
    assert "a plan file has no accounts" in cli.run("plan", "-f", file, "-o", "plan.json").err


DOMAIN = """
listen: "127.0.0.1:<client>"
server_name: edge
jetstream { store_dir: "<store>", domain: edge }
"""


def test_an_export_names_the_domain_of_the_context(
    serve: Callable[[str], ServerProcess], tmp_path: Path
) -> None:
    cli = Cli(tmp_path)
    cli.ok("context", "save", "edge", "--server", serve(DOMAIN).url, "--js-domain", "edge")
    edge = cli.with_flags("--context", "edge")
    file = write(tmp_path, "domain: edge\nstreams: {A: {}, B: {mirror: NONE}}\n", "edge.yaml")
    warned = edge.run("apply", "-f", file).err
    assert "B in edge has the mirror NONE, which is not there" in warned
    edge.ok("export", "A", "out")
    assert (tmp_path / "out/stream-A.yaml").read_text() == "domain: edge\nstreams:\n  A: {}\n"
    assert edge.ok("plan", "-f", "out") == "Plan: 1 as declared.\n"
    write(tmp_path, "domain: hub\nstreams: {A: {}}\n", "out/stream-A.yaml")
    refused = edge.run("export", "A", "out", "--force")
    assert (refused.code, "stream-A.yaml is of the domain hub, not of edge" in refused.err) == (2, True)
    edge.ok("stream", "rm", "A", "--force")
    edge.ok("stream", "rm", "B", "--force")
