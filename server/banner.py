"""The lines that a server logs when it starts, in nats-server's words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..protocol.identifier import name_hash
from ..protocol.limits import API_LEVEL
from ..version import __version__
from .jetstream.encryption import cipher_name

if TYPE_CHECKING:
    from .config import Options
    from .identity import ServerIdentity
    from .jetstream.engine import JetStream
    from .logging import Logger


def starting(log: Logger, identity: ServerIdentity, options: Options) -> None:
    """Log which server starts, and with which configuration."""
    log.info("Starting pyjs-server")
    log.info(f"  Version:  {__version__} (nats-server {identity.version})")
    log.info(f"  Runtime:  {identity.runtime}")
    if options.cluster is not None and options.cluster.name:
        log.info(f"  Cluster:  {options.cluster.name}")
    log.info(f"  Name:     {identity.name}")
    if options.jetstream.enabled:
        log.info(f"  Node:     {name_hash(identity.name)}")
    log.info(f"  ID:       {identity.id}")
    if options.config_file:
        log.info(f"Using configuration file: {options.config_file} ({options.config_digest})")
    for notice in options.notices:
        log.warning(notice)


def jetstream_started(log: Logger, engine: JetStream) -> None:
    """Log what JetStream may use, once it runs."""
    options = engine.options.jetstream
    given = engine.options.positions.get("jetstream.store_dir")
    if not given and options.store_dir.startswith("/tmp"):  # noqa: S108 compared with
        log.warning("Temporary storage directory used, data could be lost on system reboot")
    sync = options.sync_interval
    log.info("---------------- JETSTREAM ----------------")
    log.info(f"  Strict:          {str(options.strict).lower()}")
    log.info(f"  Max Memory:      {_size(engine.memory.limit)}")
    log.info(f"  Max Storage:     {_size(engine.files.limit)}")
    log.info(f'  Store Directory: "{Path(options.store_dir) / "jetstream"}"')
    if engine.domain:
        log.info(f"  Domain:          {engine.domain}")
    if options.key:
        log.info(f"  Encryption:      {cipher_name(options)}")
    log.info(f"  Acknowledged:    {'before the sync, see sync_interval' if sync else 'after the sync'}")
    log.info(f"  API Level:       {API_LEVEL}")
    log.info("-------------------------------------------")


def _size(number: int) -> str:
    """Return a size as nats-server shows it: powers of 1024 with two decimals, named KB, MB, …"""
    if number < 1024:
        return f"{number} B"
    value = float(number)
    for unit in ("B", "KB", "MB", "GB", "TB", "PB", "EB"):
        if value < 1024 or unit == "EB":
            return f"{value:.2f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")
