"""Checks of accounts: exports and imports must name accounts that exist, and must match each other."""

from __future__ import annotations

from ....protocol.subject import is_valid, tokenize
from ....protocol.subject_tree import SubjectTree, index_tree
from ....protocol.transform import SubjectTransform, TransformError
from ..options import AccountOptions, ExportOptions, ImportOptions, Options
from ..read.context import ReadContext, suggestion
from ..tree import SourcePosition

Offers = dict[str, SubjectTree[list[int]]]  # indexes of an account's exports, by the account's name


def check(options: Options, context: ReadContext) -> None:
    """Check the system account, then every export, then every import."""
    _system_account(options, context)
    for account in options.accounts.values():
        for index, export in enumerate(account.exports):
            at = context.positions.get(f"accounts.{account.name}.exports.{index}")
            _export(options, context, export, at)
    offers: Offers = {}
    for account in options.accounts.values():
        services: set[tuple[str, str, str]] = set()
        for index, made in enumerate(account.imports):
            at = context.positions.get(f"accounts.{account.name}.imports.{index}")
            _import(options, context, offers, account, made, at)
            key = (made.account, made.subject, made.to or made.subject)
            if made.kind == "service" and key in services:
                context.error(at, f'Error adding service import "{made.subject}": duplicate service import')
            services.add(key)


def _system_account(options: Options, context: ReadContext) -> None:
    at = context.positions.get("system_account")
    if options.no_system_account and options.system_account:
        context.error(at, "no_system_account and system_account can not both be set")
    operator_mode = bool(options.operator or options.trusted_keys)
    name = options.system_account
    if name == "$G":
        context.error(at, "the global account $G can not be the system account")
    elif name and name != "$SYS" and name not in options.accounts and not operator_mode:
        context.error(
            at, f'system account "{name}" is not a configured account', suggestion(name, options.accounts)
        )


def _export(options: Options, context: ReadContext, export: ExportOptions, at: SourcePosition | None) -> None:
    what = f'Error adding {export.kind} export "{export.subject}"'
    if not is_valid(export.subject):
        context.error(at, f"{what}: invalid subject")
        return
    for name in export.accounts or ():
        if name not in options.accounts:
            context.error(
                at,
                f'"{name}" account not defined for {export.kind} export',
                suggestion(name, options.accounts),
            )
    position = export.account_token_position
    if position:
        tokens = tokenize(export.subject)
        if export.accounts:
            context.error(at, f"{what}: account token position and accounts can not both be set")
        elif position > len(tokens) or tokens[position - 1] != "*":
            context.error(at, f"{what}: account token position {position} must be a * of the subject")
    if export.latency is not None:
        if export.response_type != "singleton":
            context.error(
                at, f'Error adding service latency sampling for "{export.subject}": bad service response type'
            )
        if options.no_system_account:
            context.error(
                at, f'Error adding service latency sampling for "{export.subject}": no system account'
            )
        elif not is_valid(export.latency.subject) or "*" in export.latency.subject:
            context.error(
                at, f'Error adding service latency sampling: bad subject "{export.latency.subject}"'
            )


def _import(
    options: Options,
    context: ReadContext,
    offers: Offers,
    account: AccountOptions,
    made: ImportOptions,
    at: SourcePosition | None,
) -> None:
    exporter = options.accounts.get(made.account)
    if exporter is None:
        context.error(
            at,
            f'"{made.account}" account not defined for {made.kind} import',
            suggestion(made.account, options.accounts),
        )
        return
    what = f'Error adding {made.kind} import "{made.subject}"'
    if not is_valid(made.subject):
        context.error(at, f"{what}: invalid subject")
        return
    offer = offers.get(made.account)
    if offer is None:
        offer = offers[made.account] = index_tree(export.subject for export in exporter.exports)
    found = (exporter.exports[index] for each in offer.covering(made.subject) for index in each)
    if not any(_allows(export, account.name, made) for export in found):
        context.error(
            at, f"{what}: not authorized", f"{made.account} has no such {made.kind} export for {account.name}"
        )
    if made.prefix and not is_valid(made.prefix.rstrip(".") or "."):
        context.error(at, f"{what}: invalid prefix {made.prefix!r}")
    if made.to and made.to != made.subject:
        _check_to(context, made, what, at)


def _check_to(context: ReadContext, made: ImportOptions, what: str, at: SourcePosition | None) -> None:
    """Check that `to` uses the wildcards of the subject, in any order with $n."""
    to = made.to
    if not is_valid(to):
        context.error(at, f"{what}: invalid subject {to!r}")
        return
    wildcards = [t for t in tokenize(made.subject) if t in ("*", ">")]
    if "$" not in to and "{" not in to:
        if wildcards != [t for t in tokenize(to) if t in ("*", ">")]:
            context.error(at, f"{what}: {to!r} must have the same wildcards as the subject")
        return
    try:
        SubjectTransform(made.subject, to)
    except TransformError as error:
        context.error(at, f"{what}: {error}")


def _allows(export: ExportOptions, importer: str, made: ImportOptions) -> bool:
    """Whether an export that covers an import's subject allows this importer."""
    if export.kind != made.kind:
        return False
    if export.accounts is not None and importer not in export.accounts:
        return False
    position = export.account_token_position
    if position:
        tokens = tokenize(made.subject)
        return position <= len(tokens) and tokens[position - 1] == importer
    return True
