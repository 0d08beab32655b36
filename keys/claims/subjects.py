"""Validation of subjects in claims.

These are the rules of the token format, which in places allow more than the server does.
"""

from __future__ import annotations

from .issues import Issues, quote


def check(subject: str, issues: Issues) -> None:
    """Validate that a subject is not empty and has neither spaces nor empty tokens."""
    if not subject:
        issues.error("subject cannot be empty")
        return
    if " " in subject:
        issues.error(f"subject {quote(subject)} cannot have spaces")
    if subject[0] == "." or subject[-1] == ".":
        issues.error(f"subject {quote(subject)} cannot start or end with a `.`")
    if ".." in subject:
        issues.error(f"subject {quote(subject)} cannot contain consecutive `.`")


def has_wildcards(subject: str) -> bool:
    """Return whether a token is `*`, or the last token is `>`."""
    tokens = subject.split(".")
    return "*" in tokens or tokens[-1] == ">"


def stars(subject: str) -> int:
    """Return how many tokens are `*`."""
    return subject.split(".").count("*")


def contained(subject: str, of: str) -> bool:
    """Return whether `subject` lies in `of`, token by token.

    `>` stands for one or more tokens; `*` also matches a `>`.
    """
    mine, other = subject.split("."), of.split(".")
    if len(mine) < len(other) or (len(mine) > len(other) and other[-1] != ">"):
        return False
    for index, token in enumerate(other):
        if index == len(other) - 1 and token == ">":  # noqa: S105 - a wildcard, no secret
            return True
        if token not in (mine[index], "*"):
            return False
    return True


def last_token_literal(subject: str) -> str:
    """Return a subject in which a final `>` counts as an ordinary token, as `contained` takes it."""
    return f"{subject}\0" if subject.endswith(">") else subject


def _reference(token: str) -> int | None:
    """Return the n of a token `$n`."""
    number = token[1:]
    if len(token) > 1 and token[0] == "$" and number.lstrip("+-").isascii() and number.lstrip("+-").isdigit():
        return int(number) if number[0].isdigit() or len(number.lstrip("+-")) == len(number) - 1 else None
    return None


def plain(local: str) -> str:
    """Return a local subject with every `$n` as `*`."""
    return ".".join("*" if _reference(t) is not None else t for t in local.split("."))


def _open_ended(subject: str) -> bool:
    return subject == ">" or subject.endswith(".>")


def check_renaming(local: str, remote: str, issues: Issues) -> None:
    """Validate that a local subject uses each `*` of the remote subject.

    It must have as many `*` and `$n` as the remote subject has `*`.
    """
    check(local, issues)
    if not remote:
        issues.error("subject cannot be empty")
    if " " in local:
        issues.error(f"subject {quote(local)} cannot have spaces")
    if _open_ended(local) != _open_ended(remote):
        issues.error("both, renaming subject and subject, need to end or not end in >")
    wanted, found = stars(remote), 0
    for token in local.split("."):
        number = _reference(token)
        if token == "*":  # noqa: S105 - a wildcard, no secret
            found += 1
        elif number is not None and number > wanted:
            issues.error(
                f"Reference ${number} in {quote(local)} reference * in {quote(remote)} that do not exist"
            )
        elif number is not None:
            found += 1
    if found != wanted:
        issues.error("subject does not contain enough * or reference wildcards $[0-9]")
