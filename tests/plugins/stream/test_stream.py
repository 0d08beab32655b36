"""Streams are created, shown, changed and removed without a terminal."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lib.cli import Cli
from lib.process import ServerProcess

PAGE = """\
Information for Stream NAME created <time>

Configuration:

             Subjects: NAME.>
     Acknowledgements: true
            Retention: File - Limits
             Replicas: 1
       Discard Policy: Old
     Duplicate Window: 2m0s
     Maximum Messages: unlimited
        Maximum Bytes: unlimited
          Maximum Age: 0.00s
 Maximum Message Size: unlimited
    Maximum Consumers: unlimited


State:

             Messages: 0
                Bytes: 0 B
             FirstSeq: 0
              LastSeq: 0
     Active Consumers: 0

"""


@pytest.fixture
def name(cli: Cli, unique: str) -> Iterator[str]:
    """A stream with the subjects `<name>.>`."""
    cli.ok("stream", "add", unique, "--subjects", f"{unique}.>")
    yield unique
    cli.run("stream", "rm", unique, "--force")


def timeless(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", "<time>", text)


def info(cli: Cli, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cli.ok("stream", "info", name, "--json"))
    return found


def publish(server: ServerProcess, subject: str, *bodies: str) -> None:
    wire = server.connect()
    for body in bodies:
        wire.send(f"PUB {subject} {len(body)}\r\n{body}\r\n".encode())
    wire.close()


def filled(cli: Cli, server: ServerProcess, name: str, *bodies: str, subject: str = "a") -> None:
    before = info(cli, name)["state"]["messages"]
    publish(server, f"{name}.{subject}", *bodies)
    from lib.eventually import eventually

    eventually(lambda: info(cli, name)["state"]["messages"] == before + len(bodies))


def test_without_a_terminal_flags_and_defaults_make_a_stream(cli: Cli, unique: str) -> None:
    out = cli.ok("stream", "add", unique, "--subjects", f"{unique}.>")
    assert timeless(out) == f"Stream {unique} was created\n\n" + PAGE.replace("NAME", unique)


def test_what_has_no_default_is_an_error_naming_what_gives_it(cli: Cli, unique: str) -> None:
    nameless = cli.run("stream", "add")
    assert nameless.code == 2
    assert "<STREAM>" in nameless.err
    subjectless = cli.run("stream", "add", unique)
    assert subjectless.code == 2
    assert "--subjects" in subjectless.err
    assert cli.run("stream", "info", unique).code == 3


def test_flags_of_the_documents_arrive_in_the_configuration(cli: Cli, unique: str) -> None:
    flags = (
        "--ack --max-msgs=-1 --max-bytes=-1 --max-age=1y --storage file --retention limits "
        "--max-msg-size=-1 --discard=old"
    )
    cli.ok("str", "add", unique, "--subjects", f"{unique}.*", *flags.split())
    config = info(cli, unique)["config"]
    assert config["max_age"] == 365 * 86400 * 10**9
    assert (config["max_msgs"], config["max_bytes"], config["max_msg_size"]) == (-1, -1, -1)
    assert (config["storage"], config["retention"], config["discard"]) == ("file", "limits", "old")
    assert not config.get("no_ack")


def test_every_kind_of_flag_arrives_in_the_configuration(cli: Cli, unique: str) -> None:
    cli.ok(
        "stream", "add", unique, "--subjects", f"{unique}.a,{unique}.b", "--subjects", f"{unique}.c",
        "--description", "words", "--storage", "m", "--retention", "work", "--discard", "new",
        "--max-msgs", "10", "--max-msgs-per-subject=3", "--max-bytes", "1MB", "--max-msg-size", "1KiB",
        "--max-age", "1h", "--dupe-window", "30s", "--max-consumers", "4", "--no-ack", "--deny-delete",
        "--no-allow-direct", "--metadata", "team=ops", "--republish-source", ">",
        "--republish-destination", f"copy.{unique}.>", "--republish-headers", "--discard-per-subject",
    )  # fmt: skip
    config = info(cli, unique)["config"]
    assert config["subjects"] == [f"{unique}.{each}" for each in "abc"]
    assert config["description"] == "words"
    assert (config["storage"], config["retention"], config["discard"]) == ("memory", "workqueue", "new")
    assert (config["max_msgs"], config["max_msgs_per_subject"]) == (10, 3)
    assert (config["max_bytes"], config["max_msg_size"]) == (1048576, 1024)
    assert (config["max_age"], config["duplicate_window"]) == (3600 * 10**9, 30 * 10**9)
    assert config["max_consumers"] == 4
    assert config["no_ack"] and config["deny_delete"] and config["discard_new_per_subject"]
    assert not config["allow_direct"]
    assert config["metadata"]["team"] == "ops"
    assert config["republish"] == {"src": ">", "dest": f"copy.{unique}.>", "headers_only": True}


def test_a_mirror_and_sources_are_named_or_json(cli: Cli, name: str) -> None:
    cli.ok("stream", "add", f"{name}M", "--mirror", name)
    cli.ok("stream", "add", f"{name}X", "--subjects", f"{name}X")
    cli.ok(
        "stream", "add", f"{name}S", "--source", name, "--source", f'{{"name":"{name}X","opt_start_seq":3}}'
    )
    assert info(cli, f"{name}M")["config"]["mirror"] == {"name": name}
    sources = info(cli, f"{name}S")["config"]["sources"]
    assert [each["name"] for each in sources] == [name, f"{name}X"]
    assert sources[1]["opt_start_seq"] == 3
    page = cli.ok("stream", "info", f"{name}S")
    assert f"              Sources: {name}\n                       {name}X, Start Seq: 3\n" in page
    assert "Replication Report" in cli.ok("stream", "report")


def test_a_mirror_has_no_subjects(cli: Cli, unique: str) -> None:
    result = cli.run("stream", "add", unique, "--mirror", "x", "--subjects", "y")
    assert result.code == 2
    assert "mirrors cannot listen for messages on subjects" in result.err


@pytest.mark.parametrize("value", ["{", "{}", '{"name":1}'])
def test_a_source_that_is_no_object_is_an_error_naming_the_flag(cli: Cli, unique: str, value: str) -> None:
    result = cli.run("stream", "add", unique, "--source", value)
    assert result.code == 2
    assert "--source" in result.err


def test_names_that_would_change_the_api_subject_are_refused(cli: Cli) -> None:
    result = cli.run("stream", "add", "a.b", "--subjects", "x.y")
    assert result.code == 2
    assert '"a.b" is not a valid stream name' in result.err


def test_output_writes_a_document_that_config_reads(cli: Cli, unique: str, tmp_path: Path) -> None:
    flags = ("--subjects", f"{unique}.>", "--max-age", "1d", "--storage", "memory")
    assert cli.ok("stream", "add", unique, *flags, "--output", "saved") == ""
    saved = tmp_path / "saved"
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert json.loads(saved.read_text())["name"] == unique
    assert cli.run("stream", "info", unique).code == 3  # nothing was created
    assert f"Stream {unique} was created" in cli.ok("stream", "add", "--config", "saved")
    config = info(cli, unique)["config"]
    assert (config["max_age"], config["storage"]) == (86400 * 10**9, "memory")


def test_config_takes_a_whole_info_document_and_flags_over_it(cli: Cli, name: str, tmp_path: Path) -> None:
    (tmp_path / "info.json").write_text(cli.ok("stream", "info", name, "-j"))
    cli.ok(
        "stream", "add", f"{name}2", "--config", "info.json", "--subjects", f"{name}2.>", "--description", "d"
    )
    config = info(cli, f"{name}2")["config"]
    assert (config["subjects"], config["description"]) == ([f"{name}2.>"], "d")


@pytest.mark.parametrize(
    ("content", "words", "code"),
    [
        ("{", "not JSON", 1),
        ('{"max_msgs": "many"}', "max_msgs", 1),
        ("[]", "StreamConfig", 1),
        (None, "cannot read", 3),
    ],
)
def test_a_bad_document_is_named_with_its_error(
    cli: Cli, unique: str, tmp_path: Path, content: str | None, words: str, code: int
) -> None:
    if content is not None:
        (tmp_path / "bad.json").write_text(content)
    result = cli.run("stream", "add", unique, "--config", "bad.json")
    assert result.code == code
    assert "bad.json" in result.err
    assert words in result.err


def test_validate_validates_and_creates_nothing(cli: Cli, unique: str) -> None:
    out = cli.ok("stream", "add", unique, "--subjects", f"{unique}.>", "--validate")
    assert out.endswith(
        "Configuration is a valid Stream matching io.nats.jetstream.api.v1.stream_configuration\n"
    )
    wrong = cli.run("stream", "add", unique, "--subjects", "a..b", "--validate")
    assert wrong.code == 2
    assert 'Validation Failed: "a..b" is not a valid subject' in wrong.err
    assert cli.run("stream", "info", unique).code == 3


def test_the_servers_refusal_is_reported_with_its_code(cli: Cli, name: str) -> None:
    result = cli.run("stream", "add", f"{name}2", "--subjects", f"{name}.a")
    assert result.code == 4
    assert "could not create Stream: subjects overlap with an existing stream (10065)" in result.err


def test_an_unknown_stream_names_the_nearest(cli: Cli, name: str) -> None:
    result = cli.run("stream", "info", f"{name}x")
    assert result.code == 3
    assert f"could not load Stream {name}x: stream not found (10059)" in result.err
    assert f"did you mean {name}" in result.err


def test_no_stream_given_and_no_terminal_is_an_error(cli: Cli, name: str) -> None:
    result = cli.run("stream", "info")
    assert result.code == 2
    assert "cannot pick a Stream without a terminal and no Stream name supplied" in result.err


def test_edit_shows_what_changes_and_changes_only_that(cli: Cli, name: str) -> None:
    out = cli.ok("stream", "edit", name, "--max-msgs", "5", "--force")
    assert 'Differences (-old +new):\n-  "max_msgs": -1,\n+  "max_msgs": 5,\n' in out
    assert f"Stream {name} was updated" in out
    config = info(cli, name)["config"]
    assert (config["max_msgs"], config["subjects"]) == (5, [f"{name}.>"])
    assert cli.ok("stream", "edit", name, "--max-msgs", "5", "-f") == "No difference in configuration\n"


def test_dry_run_changes_nothing_and_exits_1_for_a_difference(cli: Cli, name: str) -> None:
    assert cli.run("stream", "edit", name, "--max-msgs", "5", "--dry-run").code == 5
    assert cli.run("stream", "edit", name, "--dry-run").code == 0
    assert info(cli, name)["config"]["max_msgs"] == -1


def test_what_a_file_leaves_out_is_no_difference(cli: Cli, name: str, tmp_path: Path) -> None:
    file = tmp_path / "sparse.json"
    sparse = {"name": name, "subjects": [f"{name}.>"], "allow_direct": True}
    file.write_text(json.dumps(sparse))
    output = cli.ok("stream", "edit", name, "--config", str(file), "--dry-run")
    assert output == "No difference in configuration\n"
    file.write_text(json.dumps({**sparse, "max_age": 60 * 10**9}))
    result = cli.run("stream", "edit", name, "--config", str(file), "--dry-run")
    assert result.code == 5
    assert result.out.splitlines() == [
        "Differences (-old +new):",
        '-  "duplicate_window": 120000000000,',
        '-  "max_age": 0,',
        '+  "duplicate_window": 60000000000,',
        '+  "max_age": 60000000000,',
    ]


def test_edit_needs_a_terminal_or_force(cli: Cli, name: str) -> None:
    result = cli.run("stream", "edit", name, "--max-msgs", "5")
    assert result.code == 2
    assert "--force" in result.err
    assert info(cli, name)["config"]["max_msgs"] == -1


def test_copy_takes_a_configuration_with_changes(cli: Cli, name: str) -> None:
    cli.ok("stream", "edit", name, "--max-msgs", "7", "-f")
    cli.ok("str", "cp", name, f"{name}B", "--subjects", f"{name}B.*", "--max-age", "2y")
    config = info(cli, f"{name}B")["config"]
    assert (config["max_msgs"], config["subjects"]) == (7, [f"{name}B.*"])
    assert config["max_age"] == 2 * 365 * 86400 * 10**9


def test_a_copy_of_a_sealed_stream_is_not_sealed(cli: Cli, name: str) -> None:
    cli.ok("stream", "seal", name, "-f")
    result = cli.run("stream", "copy", name, f"{name}B", "--subjects", f"{name}B.*")
    assert (result.code, f"warning: {name} is sealed; {name}B is not" in result.err) == (0, True)
    config = info(cli, f"{name}B")["config"]
    assert not any(config.get(each) for each in ("sealed", "deny_delete", "deny_purge"))


def test_ls_lists_names_tables_and_json(cli: Cli, name: str) -> None:
    assert name in cli.ok("stream", "ls", "-n").splitlines()
    assert name in json.loads(cli.ok("stream", "ls", "--json"))
    assert re.search(rf"│ {name} +│ +│ \d{{4}}-", cli.ok("s", "ls"))
    assert cli.ok("stream", "ls", "--names", "--subject", f"{name}.x").split() == [name]


def test_report_shows_sizes_in_the_documents_columns(cli: Cli, server: ServerProcess, name: str) -> None:
    filled(cli, server, name, "hello world")
    out = cli.ok("s", "report")
    assert out.startswith("Obtaining Stream stats\n\n╭")
    header = "│ Storage │ Consumers │ Messages │ Bytes │ Lost │ Deleted │ Replicas │"
    assert header in out
    size = 22 + len(f"{name}.a") + len("hello world") + 8
    row = next(line for line in out.splitlines() if f"│ {name} " in line)
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        name, "File", "0", "1", f"{size} B", "0", "0", "",
    ]  # fmt: skip


def test_get_shows_a_message_by_sequence_or_subject(cli: Cli, server: ServerProcess, name: str) -> None:
    filled(cli, server, name, "one", "two")
    out = cli.ok("stream", "get", name, "1")
    assert re.match(rf"Item: {name}#1 received \S+ \(\S+ ago\) on Subject {name}\.a\n\none\n", out)
    last = json.loads(cli.ok("stream", "get", name, "-S", f"{name}.a", "--json"))
    assert last["seq"] == 2
    missing = cli.run("stream", "get", name, "9")
    assert missing.code == 3
    assert "no message found (10037)" in missing.err


def test_view_shows_one_page_in_a_pipe(cli: Cli, server: ServerProcess, name: str) -> None:
    filled(cli, server, name, "one", "two", "three")
    assert cli.ok("stream", "view", name, "2", "--raw").split() == ["one", "two"]
    assert cli.ok("stream", "view", name, "--id", "3", "--raw").split() == ["three"]
    assert cli.ok("stream", "view", name, "--subject", f"{name}.nothing", "--raw") == ""


def test_subjects_are_counted(cli: Cli, server: ServerProcess, name: str) -> None:
    filled(cli, server, name, "1", "2", subject="a")
    filled(cli, server, name, "3", subject="b")
    assert json.loads(cli.ok("stream", "subjects", name, "--json")) == {f"{name}.a": 2, f"{name}.b": 1}
    assert cli.ok("stream", "subj", name, f"{name}.b", "--names").split() == [f"{name}.b"]
    assert f"2 Subjects in stream {name}" in cli.ok("stream", "subjects", name)


def test_rmm_leaves_a_gap(cli: Cli, server: ServerProcess, name: str) -> None:
    filled(cli, server, name, "1", "2", "3", "4")
    cli.ok("stream", "rmm", name, "2", "-f")
    cli.ok("stream", "rmm", name, "3", "-f")
    assert json.loads(cli.ok("stream", "gaps", name, "--json")) == [[2, 3]]
    assert "     Deleted Messages: 2" in cli.ok("stream", "state", name)
    assert cli.run("stream", "rmm", name, "2", "-f").code == 3


def test_purge_removes_all_or_by_subject_sequence_and_number(
    cli: Cli, server: ServerProcess, name: str
) -> None:
    filled(cli, server, name, *"123456")
    filled(cli, server, name, "7", subject="b")
    assert f"Purged 1 messages from {name}" in cli.ok("stream", "purge", name, "-f", "--subject", f"{name}.b")
    assert "Purged 2 messages" in cli.ok("stream", "purge", name, "-f", "--seq", "3")
    assert "Purged 2 messages" in cli.ok("stream", "purge", name, "-f", "--keep", "2")
    assert "             Messages: 0" in cli.ok("stream", "purge", name, "-f")
    assert cli.run("stream", "purge", name, "-f", "--seq", "3", "--keep", "2").code == 2


def test_what_cannot_be_undone_needs_a_terminal_or_force(cli: Cli, name: str) -> None:
    for command in (("rm",), ("purge",), ("seal",), ("rmm",)):
        result = cli.run("stream", *command, name, *(("1",) if command == ("rmm",) else ()))
        assert result.code == 2
        assert "cannot ask for confirmation without a terminal" in result.err
    assert not info(cli, name)["config"]["sealed"]


def test_seal_is_for_good(cli: Cli, name: str) -> None:
    assert "               Sealed: true" in cli.ok("stream", "seal", name, "-f")
    assert cli.run("stream", "purge", name, "-f").code == 4


def test_rm_deletes(cli: Cli, name: str) -> None:
    assert cli.ok("stream", "rm", name, "-f") == ""
    result = cli.run("stream", "rm", name, "-f")
    assert result.code == 3
    assert "stream not found (10059)" in result.err
    assert cli.run("stream", "rm", "-f").code == 2


def test_find_tells_streams_apart(cli: Cli, name: str) -> None:
    cli.ok("stream", "add", f"{name}M", "--mirror", name)

    def found(*flags: str) -> set[str]:
        return {each for each in cli.ok("stream", "find", "--names", *flags).split() if each.startswith(name)}

    assert found("--mirrored") == {f"{name}M"}
    assert found("--mirrored", "--invert") == {name}
    assert found("--subject", f"{name}.x") == {name}
    assert found("--empty", "--created", "1h") == set()
    assert found("--expression", "config.mirror != nil") == {f"{name}M"}
    assert found("--expression", f"'{name}.>' in config.subjects and info.state.messages == 0") == {name}
    wrong = cli.run("stream", "find", "--expression", "state.messages")
    assert (wrong.code, "expression did not return a boolean" in wrong.err) == (2, True)


def test_streams_of_other_services_are_shown_on_demand(cli: Cli, unique: str) -> None:
    bucket = f"KV_{unique}"
    cli.ok("stream", "add", bucket, "--subjects", f"$KV.{unique}.>")
    assert bucket in cli.ok("stream", "ls", "--names")  # as nats: a script that saves all streams wants all
    assert bucket not in cli.ok("stream", "report")
    assert bucket in cli.ok("stream", "report", "-a")
    assert bucket in cli.ok("stream", "find", "--empty")  # as nats: criteria say what is wanted
    assert bucket in cli.ok("stream", "find", "-a", "--names", "--subject", f"$KV.{unique}.x").split()
    cli.ok("stream", "rm", bucket, "-f")
