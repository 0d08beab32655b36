"""Contexts are the files that `nats` keeps."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from lib.cli import Cli

# As the `nats` command line writes it, byte for byte.
SAVED = """{
  "description": "a b",
  "url": "nats://acc:acc@localhost:4222",
  "socks_proxy": "",
  "token": "",
  "user": "",
  "password": "",
  "creds": "",
  "nkey": "",
  "cert": "",
  "key": "",
  "ca": "",
  "nsc": "",
  "jetstream_domain": "hub",
  "jetstream_api_prefix": "",
  "jetstream_event_prefix": "",
  "inbox_prefix": "",
  "user_jwt": "",
  "user_seed": "",
  "color_scheme": "",
  "tls_first": false,
  "windows_cert_store": "",
  "windows_cert_match_by": "",
  "windows_cert_match": "",
  "windows_ca_certs_match": null
}"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ".config" / "nats"


def save(cli: Cli, name: str, *flags: str) -> str:
    return cli.ok("context", "save", name, *flags)


def test_a_context_is_written_as_nats_writes_it(cli: Cli, folder: Path) -> None:
    save(cli, "hub", "-s", "nats://acc:acc@localhost:4222", "--js-domain", "hub", "--description", "a b")
    path = folder / "context" / "hub.json"
    assert path.read_text() == SAVED
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_its_page_reads_as_that_of_nats(cli: Cli, folder: Path) -> None:
    out = save(cli, "hub", "-s", "nats://localhost:4222", "--js-domain", "hub", "--description", "a b")
    assert out == (
        'NATS Configuration Context "hub"\n'
        "\n"
        "  Description: a b\n"
        "  Server URLs: nats://localhost:4222\n"
        "    JS Domain: hub\n"
        f"         Path: {folder / 'context' / 'hub.json'}\n"
        "\n"
    )


def test_saving_again_changes_only_what_is_given(cli: Cli, folder: Path) -> None:
    save(cli, "a", "-s", "nats://one", "--js-domain", "hub")
    save(cli, "a", "--description", "new")
    saved = json.loads((folder / "context" / "a.json").read_text())
    assert (saved["url"], saved["jetstream_domain"], saved["description"]) == ("nats://one", "hub", "new")


def test_a_new_context_may_start_from_another(cli: Cli, folder: Path) -> None:
    save(cli, "a", "-s", "nats://one", "--js-domain", "hub")
    save(cli, "b", "--context", "a", "--js-domain", "leaf")
    saved = json.loads((folder / "context" / "b.json").read_text())
    assert (saved["url"], saved["jetstream_domain"]) == ("nats://one", "leaf")


def test_fields_of_a_later_nats_are_kept(cli: Cli, folder: Path) -> None:
    save(cli, "a")
    path = folder / "context" / "a.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "new_thing": [1, 2]}))
    save(cli, "a", "--description", "x")
    assert json.loads(path.read_text())["new_thing"] == [1, 2]


def test_two_kinds_of_credentials_are_refused(cli: Cli, folder: Path) -> None:
    result = cli.run("context", "save", "x", "--user", "u", "--password", "p", "--creds", "/tmp/x.creds")
    assert result.code == 2
    assert "too many types of credentials" in result.err
    assert not (folder / "context" / "x.json").exists()


def test_selecting_remembers_the_one_before(cli: Cli, folder: Path) -> None:
    save(cli, "a")
    save(cli, "b", "--select")
    cli.ok("context", "select", "a")
    assert (folder / "context.txt").read_text() == "a"
    assert (folder / "previous-context.txt").read_text() == "b"
    cli.ok("context", "previous")
    assert (folder / "context.txt").read_text() == "b"
    cli.ok("ctx", "--", "-")
    assert (folder / "context.txt").read_text() == "a"


def test_the_list_marks_the_selected_one(cli: Cli) -> None:
    save(cli, "a")
    save(cli, "b", "--description", "the second", "--select")
    assert cli.ok("context", "ls") == (
        "╭────────────────────╮\n"
        "│   Known Contexts   │\n"
        "├──────┬─────────────┤\n"
        "│ Name │ Description │\n"
        "├──────┼─────────────┤\n"
        "│ a    │             │\n"
        "│ b*   │ the second  │\n"
        "╰──────┴─────────────╯\n"
        "\n"
    )
    assert cli.ok("context", "ls", "--names") == "a\nb\n"
    assert [each["name"] for each in json.loads(cli.ok("context", "ls", "--json"))] == ["a", "b"]


def test_the_selected_context_is_removed_only_by_force(cli: Cli, folder: Path) -> None:
    save(cli, "a", "--select")
    refused = cli.run("context", "rm", "a")
    assert refused.code == 1
    assert "cannot remove the selected context" in refused.err
    cli.ok("context", "rm", "a", "--force")
    assert not (folder / "context" / "a.json").exists()
    assert cli.ok("context", "unselect") == "No context currently selected\n"


def test_unselecting_leaves_no_default(cli: Cli, folder: Path) -> None:
    save(cli, "a", "--select")
    assert cli.ok("context", "unselect") == 'Unselected the "a" context\n'
    assert not (folder / "context.txt").exists()
    assert cli.run("context", "info").code == 2


def test_validation_fails_for_a_file_that_is_not_there(cli: Cli, tmp_path: Path) -> None:
    here = tmp_path / "here.creds"
    here.write_text("-----BEGIN")
    save(cli, "a", "--creds", str(here))
    assert f"  Credentials: {here} (OK)" in cli.ok("context", "validate", "a")
    here.unlink()
    result = cli.run("context", "validate")
    assert result.code == 1
    assert f"{here} (ERROR)" in result.out


def test_connecting_is_part_of_validation_on_demand(cli: Cli) -> None:
    save(cli, "a", "-s", "nats://127.0.0.1:1")
    result = cli.run("context", "validate", "a", "--connect")
    assert result.code == 1
    assert "Connection: nats: no servers available for connection" in result.out


def test_secrets_are_not_shown(cli: Cli) -> None:
    out = save(cli, "a", "--user", "ada", "--password", "s3cret")
    assert "Username: ada" in out
    assert "s3cret" not in out


def test_embedded_credentials_need_no_file_any_more(cli: Cli, tmp_path: Path, folder: Path) -> None:
    creds = tmp_path / "x.creds"
    creds.write_text("-----BEGIN NATS USER JWT-----\n")
    out = save(cli, "a", "--creds", str(creds), "--embed")
    assert "embedded data" in out
    assert json.loads((folder / "context" / "a.json").read_text())["creds"].startswith("data:;base64,")


@pytest.mark.parametrize("name", ["a/b", "..", "a\\b"])
def test_names_that_leave_the_folder_are_refused(cli: Cli, name: str) -> None:
    result = cli.run("context", "save", name)
    assert result.code == 2
    assert "invalid context name" in result.err


def test_editing_saves_what_the_editor_leaves(cli: Cli, folder: Path) -> None:
    save(cli, "a", "--description", "old words")
    result = cli.run("context", "edit", "a", env={"EDITOR": "sed -i s/old/new/", "VISUAL": ""})
    assert result.code == 0
    assert json.loads((folder / "context" / "a.json").read_text())["description"] == "new words"


def test_a_broken_edit_changes_nothing(cli: Cli, folder: Path) -> None:
    save(cli, "a")
    before = (folder / "context" / "a.json").read_text()
    result = cli.run("context", "edit", "a", env={"EDITOR": "sed -i s/{/[/", "VISUAL": ""})
    assert result.code == 1
    assert "not JSON" in result.err
    assert (folder / "context" / "a.json").read_text() == before
