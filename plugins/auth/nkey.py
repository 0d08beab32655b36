"""`pyjs auth nkey`: nkeys made and shown, data signed and verified, files sealed for one reader."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ...cli import render
from ...cli.command import CommandGroup, LocalCommand
from ...cli.errors import CliError, NotFoundError, RefusedError
from ...keys import KeyPair, KeyRole, files, is_public, open_sealed, seal, verify
from ...keys.workspace.signing import key_in_file

ROLES = {
    "user": KeyRole.USER,
    "account": KeyRole.ACCOUNT,
    "server": KeyRole.SERVER,
    "cluster": KeyRole.CLUSTER,
    "operator": KeyRole.OPERATOR,
    "curve": KeyRole.CURVE,
    "x25519": KeyRole.CURVE,
}
FILE = click.Path(path_type=Path)

nkey = CommandGroup(
    name="nkey",
    help="Make nkeys, sign and verify with them, and seal files for one reader. An nkey is read from a file: "
    "the first line of it that is a seed or public key.",
)


def _file(name: str) -> Callable[..., Any]:
    return click.argument(name, type=FILE)


def content_of(path: Path) -> bytes:
    """Return the content of a file. Raises NotFoundError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {path}") from None


def pair_in(path: Path, *roles: KeyRole) -> KeyPair:
    """Return the key pair whose seed is in a file. Raises CliError for a public key, IdentityError."""
    found = key_in_file(path, *roles)
    if found.pair is None:
        raise CliError(f"{path} holds a public key: this needs the seed")
    return found.pair


@nkey.command("gen", cls=LocalCommand)
@click.argument("type_", metavar="TYPE", type=click.Choice(tuple(ROLES)))
@click.option("--public", is_flag=True, help="Output the public key as well.")
@click.option("--entropy", type=FILE, help="Take the 32 secret bytes from this file, such as /dev/urandom.")
@click.option("--output", type=FILE, help="Write the key to this file instead, readable by its owner only.")
def gen(type_: str, public: bool, entropy: Path | None, output: Path | None) -> None:
    """Make a key of TYPE and print its seed: user, account, server, cluster, operator or curve (x25519)."""
    role = ROLES[type_]
    pair = KeyPair.create(role) if entropy is None else KeyPair.create(role, _entropy(entropy))
    lines = [pair.seed, *([pair.public_key] if public else [])]
    if output is None:
        render.show("\n".join(lines))
    else:
        files.write(output, "\n".join(lines) + "\n")


def _entropy(path: Path) -> Callable[[int], bytes]:
    def read(count: int) -> bytes:
        try:
            with path.open("rb") as source:
                found = source.read(count)
        except FileNotFoundError:
            raise NotFoundError(f"there is no file {path}") from None
        if len(found) < count:
            raise CliError(f"{path} has only {len(found)} of the {count} bytes that a key needs")
        return found

    return read


@nkey.command(cls=LocalCommand)
@_file("key")
def show(key: Path) -> None:
    """Show the public key of the seed in the file KEY."""
    render.show(pair_in(key).public_key)


@nkey.command(cls=LocalCommand)
@_file("file")
@_file("key")
def sign(file: Path, key: Path) -> None:
    """Sign FILE with the seed in the file KEY, and print the signature in URL-safe base64."""
    render.show(base64.urlsafe_b64encode(pair_in(key).sign(content_of(file))).decode().rstrip("="))


@nkey.command("verify", cls=LocalCommand)
@_file("file")
@_file("signature")
@_file("key")
def verified(file: Path, signature: Path, key: Path) -> None:
    """Verify the signature of FILE in the file SIGNATURE by the public key or seed in the file KEY."""
    written = b"".join(content_of(signature).split())
    try:
        raw = base64.b64decode(written + b"=" * (-len(written) % 4), altchars=b"-_", validate=True)
    except binascii.Error:
        raise CliError(f"{signature} is no signature in URL-safe base64") from None
    if not verify(key_in_file(key).public_key, content_of(file), raw):
        raise RefusedError(f"nkeys: the signature of {file} verification failed")
    render.show("Verified OK")


OUTPUT = click.option(
    "--output", type=FILE, help="Write exactly the result to this file, readable by its owner only."
)


@nkey.command("seal", cls=LocalCommand)
@_file("file")
@_file("key")
@click.argument("recipient")
@OUTPUT
@click.option("--b64/--no-b64", default=True, help="Write base64, which is the default.")
def sealed(file: Path, key: Path, recipient: str, output: Path | None, b64: bool) -> None:
    """Encrypt FILE with the curve seed in the file KEY for RECIPIENT, a public curve key."""
    made = seal(content_of(file), pair_in(key, KeyRole.CURVE), _curve(recipient))
    _write(base64.b64encode(made) if b64 else made, output, newline=b64)


@nkey.command(cls=LocalCommand)
@_file("file")
@_file("key")
@click.argument("sender")
@OUTPUT
@click.option("--b64/--no-b64", default=True, help="Read base64, which is the default.")
def unseal(file: Path, key: Path, sender: str, output: Path | None, b64: bool) -> None:
    """Decrypt FILE with the curve seed in the file KEY; SENDER is the public curve key that sealed it."""
    content = content_of(file)
    pair, writer = pair_in(key, KeyRole.CURVE), _curve(sender)
    _write(open_sealed(from_base64(content, str(file)) if b64 else content, pair, writer), output)


nkey.add_alias("seal", "encrypt", "enc")
nkey.add_alias("unseal", "open", "decrypt", "dec")


def from_base64(content: bytes, name: str) -> bytes:
    """Return the bytes of a base64 text, in which line breaks do not count. Raises CliError."""
    try:
        return base64.b64decode(b"".join(content.split()), validate=True)
    except binascii.Error:
        raise CliError(f"{name} is no base64") from None


def _curve(key: str) -> str:
    if not is_public(key, KeyRole.CURVE):
        raise CliError("invalid public key provided: a public curve key begins with X")
    return key


def _write(content: bytes, output: Path | None, *, newline: bool = True) -> None:
    """Write a result to a file, or to stdout with a line break behind it."""
    if output is not None:
        files.write(output, content)
        return
    click.echo(content, nl=newline)
