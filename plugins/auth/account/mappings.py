"""`pyjs auth account mappings`: where messages published on a subject go instead, by weight."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ....cli import output, prompt, render
from ....cli.command import CommandGroup, LocalCommand
from ....cli.errors import CliError, NotFoundError, RefusedError, UsageError, close_matches
from ....cli.output import NAME, NUMBER, Column, Table
from ....keys import files
from ....keys.claims import WeightedMapping
from ....keys.workspace.mappings import add_mapping, delete_mapping, set_mappings
from .. import folders
from ..outcome import checked
from ..page import Pairs, page

MAPPINGS = Table(
    "auth_mappings",
    "Subject mappings",
    (
        Column("source", "Source Subject", NAME),
        Column("target", "Target Subject", NAME),
        Column("weight", "Weight", NUMBER),
        Column("cluster", "Cluster", NAME),
    ),
    key="source",
    empty="No mappings defined",
    spare=("cluster",),
)
LEGACY = "that of nats: an object with the targets of each source"
SOURCE = click.argument("source", required=False, default="")
Mappings = dict[str, list[WeightedMapping]]

mappings = CommandGroup(
    name="mappings", help="Manage where messages published on a subject go instead, by weight."
)


@mappings.command(cls=LocalCommand)
@output.showing("auth_mappings", legacy=LEGACY)
@folders.ACCOUNT
@SOURCE
@click.argument("target", required=False, default="")
@click.argument("weight", type=click.IntRange(1, 100), required=False, default=100)
@click.argument("cluster", required=False, default="")
@folders.OPERATOR
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="File in JSON or YAML: targets by their source subjects.",
)
async def add(
    account: str, source: str, target: str, weight: int, cluster: str, operator: str, config: Path | None
) -> None:
    """Map WEIGHT percent of SOURCE to TARGET; with --config, replace the targets of the sources in a file."""
    if config is not None and (source or target):
        raise UsageError("the mappings are in --config: SOURCE and TARGET do not go with it")
    here, owner = await folders.in_account(operator, account)
    if config is not None:
        found = _read(config)
        checked(set_mappings(here, found, account=owner))
        show(found)
        return
    explain = "the source subject of the mapping"
    source = source or await prompt.text("Source subject", flag="<SOURCE>", required=True, explain=explain)
    explain = "the target subject of the mapping"
    target = target or await prompt.text("Target subject", flag="<TARGET>", required=True, explain=explain)
    before = here.store().account(owner).nats.mappings.get(source, [])
    if any((each.subject, each.cluster) == (target, cluster) for each in before):
        raise RefusedError(f"mapping {source} -> {target} already exists")
    made = add_mapping(
        here, source, WeightedMapping(subject=target, weight=weight, cluster=cluster), account=owner
    )
    show({source: checked(made).targets})


@mappings.command(cls=LocalCommand)
@output.showing("auth_mappings", legacy=LEGACY)
@folders.ACCOUNT
@SOURCE
@folders.OPERATOR
async def info(account: str, source: str, operator: str) -> None:
    """Show the targets of a source subject."""
    here, owner = await folders.in_account(operator, account)
    known = here.store().account(owner).nats.mappings
    source = await _chosen(known, source)
    show({source: known[source]})


@mappings.command(cls=LocalCommand)
@output.listing(MAPPINGS)
@folders.ACCOUNT
@folders.OPERATOR
async def ls(account: str, operator: str) -> None:
    """List the mappings of an account."""
    here, owner = await folders.in_account(operator, account)
    known = sorted(here.store().account(owner).nats.mappings.items())
    records = [_record(source, target) for source, targets in known for target in targets]
    output.show(MAPPINGS.of(records, title=f"Subject mappings for account {owner}"))


@mappings.command("rm", cls=LocalCommand)
@folders.ACCOUNT
@SOURCE
@folders.OPERATOR
async def remove(account: str, source: str, operator: str) -> None:
    """Remove all targets of a source subject."""
    here, owner = await folders.in_account(operator, account)
    source = await _chosen(here.store().account(owner).nats.mappings, source)
    checked(delete_mapping(here, source, account=owner))
    render.show(f"Deleted mapping {{{source}}}")


mappings.add_alias("add", "new", "a")
mappings.add_alias("ls", "list")
mappings.add_alias("info", "i", "show", "view")


def show(found: Mappings) -> None:
    """Show the targets of source subjects."""
    rows: Pairs = []
    for source, targets in found.items():
        for target in targets:
            rows += [("Source", source), ("Target", target.subject), ("Weight", target.share)]
            rows += [("Cluster", target.cluster)] if target.cluster else []
        rows.append(("Total weight", sum(target.share for target in targets)))
    legacy = {
        source: [{"Subject": each.subject, "Weight": each.share, "Cluster": each.cluster} for each in targets]
        for source, targets in found.items()
    }
    document = {
        "mappings": [_record(source, target) for source, targets in found.items() for target in targets]
    }
    text = page("Subject mappings", [("Configuration", rows)])
    output.show_page(document, text, name=next(iter(found), ""), legacy=legacy)


def _record(source: str, target: WeightedMapping) -> dict[str, Any]:
    return {"source": source, "target": target.subject, "weight": target.share, "cluster": target.cluster}


async def _chosen(known: Mappings, given: str) -> str:
    """Return a source subject that is mapped: the given one, or the answer."""
    if not known:
        raise NotFoundError("No mappings defined")
    given = given or await prompt.pick("Mapping", sorted(known), argument="<SOURCE>")
    if given not in known:
        raise NotFoundError(f'"{given}" is not mapped', close_matches(given, known))
    return given


def _read(path: Path) -> Mappings:
    """Read mappings from a file: an object with a list of targets for each source. Raises CliError."""
    import yaml

    try:
        content = yaml.safe_load(files.read(path))
    except yaml.YAMLError as error:
        raise CliError(f"{path} is neither JSON nor YAML: {error}") from None
    if not isinstance(content, dict):
        raise CliError(f"{path} holds no mappings: an object with a list of targets for each source")
    return {str(source): _targets(path, source, targets) for source, targets in content.items()}


def _targets(path: Path, source: object, content: object) -> list[WeightedMapping]:
    if not isinstance(content, list):
        raise CliError(f"{path}: {source} needs a list of targets, each with a subject")
    return [_target(path, source, each) for each in content]


def _target(path: Path, source: object, content: object) -> WeightedMapping:
    """Return one target; fields are read in any case, since `nats auth` shows them in capitals."""
    fields = (
        {str(name).lower(): value for name, value in content.items()} if isinstance(content, dict) else {}
    )
    subject, weight, cluster = fields.get("subject"), fields.get("weight", 100), fields.get("cluster", "")
    known = fields.keys() <= {"subject", "weight", "cluster"}
    whole = isinstance(weight, int) and not isinstance(weight, bool) and 0 <= weight <= 100
    if not (isinstance(subject, str) and whole and isinstance(cluster, str) and known):
        raise CliError(
            f"{path}: a target of {source} has a subject, a weight up to 100, a cluster, and nothing else"
        )
    return WeightedMapping(subject=subject, weight=weight, cluster=cluster)
