"""The commands of `pyjs demo`: their output and their exit codes (0: every claim held)."""

from __future__ import annotations

import click


@click.command("leaf-nodes")
@click.option("--keep", is_flag=True, help="Leave the servers running and show how to use them.")
@click.option("--pause", is_flag=True, help="Wait for Enter between the steps.")
@click.pass_context
def leaf_nodes(context: click.Context, keep: bool, pause: bool) -> None:
    """Play the documentation page "JetStream on Leaf Nodes" on two servers of your own, and check it."""
    from rich.console import Console

    from ...cli.errors import CliError
    from . import leaf_nodes as page
    from .stage import DemoError, Stage

    with Stage(Console(highlight=False), pause=pause, keep=keep) as stage:
        try:
            holds = page.play(stage)
        except DemoError as error:
            raise CliError(str(error)) from error
    context.exit(0 if holds else 1)


@click.command("video")
@click.option("--chapter", type=click.IntRange(1, 8), metavar="N", help="Show only chapter N (1 to 8).")
@click.option("--keep", is_flag=True, help="Leave the servers running and show how to use them.")
@click.option("--pause", is_flag=True, help="Wait for Enter between the chapters.")
@click.pass_context
def video(context: click.Context, chapter: int | None, keep: bool, pause: bool) -> None:
    """Play "Persistence at the Edge" on nine servers of your own, a hub and two spokes, and check it."""
    from rich.console import Console

    from ...cli.errors import CliError
    from .stage import DemoError, Stage
    from .video.play import play

    with Stage(Console(highlight=False), pause=pause, keep=keep) as stage:
        try:
            holds = play(stage, chapter or 0)
        except DemoError as error:
            raise CliError(str(error)) from error
    context.exit(0 if holds else 1)


@click.command("pipeline")
@click.option("--keep", is_flag=True, help="Leave the servers and the program, and show how to use them.")
@click.option("--pause", is_flag=True, help="Wait for Enter between the chapters.")
@click.pass_context
def pipeline(context: click.Context, keep: bool, pause: bool) -> None:
    """Take orders at two leafs, gather them in the hub, count them with Spark, and check every number.

    Needs PySpark (pip install 'pyjs[spark]') and Java 17 or newer.
    """
    from importlib.util import find_spec

    from rich.console import Console

    from ...cli.errors import CliError
    from ...pipeline import java, session
    from .stage import DemoError, Stage

    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        raise CliError(session.MISSING)
    try:
        java.find()
    except java.JavaError as error:
        raise CliError(str(error)) from error
    from .pipeline.play import play

    with Stage(Console(highlight=False), pause=pause, keep=keep) as stage:
        try:
            holds = play(stage)
        except DemoError as error:
            raise CliError(str(error)) from error
    context.exit(0 if holds else 1)
