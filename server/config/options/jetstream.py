"""Options of JetStream."""

from __future__ import annotations

from ....protocol.lazy_dataclass import dataclass
from .field import SECOND, option

MIB = 1024 * 1024
DEFAULT_MAX_CONSUMERS = 1000


@dataclass(slots=True)
class BatchLimits:
    """Limits of batch publishes."""

    max_inflight_per_stream: int = option(50, "max_inflight_per_stream", "int", "Open batches of one stream.")
    max_inflight_total: int = option(1000, "max_inflight_total", "int", "Open batches in all.")
    max_msgs: int = option(1000, "max_msgs", "int", "Messages in a batch.")
    timeout: int = option(10 * SECOND, "timeout", "strict_duration", "Time to finish a batch.")


@dataclass(slots=True)
class JetStreamLimitOptions:
    """Limits of requests; 0: no limit."""

    max_ack_pending: int = option(0, "max_ack_pending", "int", "Largest `max_ack_pending` of a consumer.")
    max_ha_assets: int = option(0, "max_ha_assets", "int", "Replicated streams and consumers on one server.")
    default_max_consumers: int = option(
        DEFAULT_MAX_CONSUMERS,
        "default_max_consumers",
        "int",
        "Consumers of a stream where neither it nor its account has a limit; below 0: any number; 0: 1000.",
    )
    max_request_batch: int = option(0, "max_request_batch", "int", "Largest batch of a pull.")
    duplicate_window: int = option(0, "duplicate_window", "strict_duration", "Largest duplicate window.")
    batch: BatchLimits = option(
        BatchLimits, "batch", "section", "Limits of atomic batch publishes.", section=BatchLimits
    )


@dataclass(slots=True)
class TPMOptions:
    """The key of a trusted platform module (TPM)."""

    keys_file: str = option("", "keys_file", "path", "File with the sealed keys.")
    encryption_password: str = option("", "encryption_password", "string", "Password.", secret=True)
    srk_password: str = option("", "srk_password", "string", "Password of the storage root.", secret=True)
    pcr: int = option(22, "pcr", "int", "Platform register.")
    cipher: str = option("", "cipher", "string", "Cipher.")


@dataclass(slots=True)
class JetStreamOptions:
    """The `jetstream` key: true, false or this map.

    max_memory, max_file: bytes; None for a share (75 %) of what the machine has.
    sync_interval: ns between syncs that acknowledgements do not wait for; 0 for "always"; None, the default,
        makes an acknowledgement wait for the sync of its group commit.
    """

    enabled: bool = option(
        False,
        "enabled enable",
        "bool",
        "Switch JetStream on; a map without it does, too. Not reloaded in clusters.",
        reload=True,
    )
    store_dir: str = option("", "store_dir store storedir", "path", "Directory of the stored files.")
    max_memory: int | None = option(
        None,
        "max_memory_store max_mem_store max_mem",
        "js_size",
        "Bytes for memory streams; if unset, 75% of the memory. A reload may raise it.",
        reload=True,
    )
    max_file: int | None = option(
        None,
        "max_file_store max_file",
        "js_size",
        "Bytes for file streams; if unset, 75% of the free disk. A reload may raise it.",
        reload=True,
    )
    sync_interval: int | None = option(
        None,
        "sync_interval sync",
        "sync_interval",
        'Time between syncs, or "always". Unset: an acknowledgement follows the sync (group commit).',
    )
    domain: str = option("", "domain", "string", "JetStream domain, one token.")
    key: str = option("", "key ek encryption_key", "string", "Key of the encryption at rest.", secret=True)
    prev_key: str = option("", "prev_key prev_ek prev_encryption_key", "string", "Former key.", secret=True)
    cipher: str = option(
        "chacha",
        "cipher",
        "choice",
        "Cipher of the encryption at rest.",
        choices=("chacha", "chachapoly", "aes"),
    )
    strict: bool = option(True, "strict", "bool", "Refuse unknown fields in API requests.")
    legacy_api: bool = option(
        False, "legacy_api", "bool", "Serve the API subjects of early 2020, and stream templates."
    )
    extension_hint: str = option(
        "",
        "extension_hint",
        "choice",
        "Whether a leaf node's JetStream extends the hub's: `will_extend` or `no_extend`.",
        choices=("no_extend", "will_extend"),
    )
    unique_tag: str = option(
        "", "unique_tag", "string", "No two replicas of a stream share a tag that begins with this prefix."
    )
    limits: JetStreamLimitOptions = option(
        JetStreamLimitOptions, "limits", "section", "Limits of requests.", section=JetStreamLimitOptions
    )
    tpm: TPMOptions | None = option(
        None, "tpm", "section", "Key from a trusted platform module.", section=TPMOptions
    )
    max_outstanding_catchup: int = option(
        64 * MIB, "max_outstanding_catchup", "size", "Bytes in flight to replicas that catch up."
    )
    max_buffered_size: int = option(
        128 * MIB,
        "max_buffered_size",
        "size",
        "Bytes of publishes that a replicated stream has not agreed on yet; further ones are refused.",
    )
    max_buffered_msgs: int = option(100_000, "max_buffered_msgs", "int", "The same as a number of messages.")
    request_queue_limit: int = option(10_000, "request_queue_limit", "int", "API requests queued.")
    info_queue_limit: int | None = option(
        None, "info_queue_limit", "int", "Info requests queued; if unset, `request_queue_limit`."
    )
    meta_compact: int = option(
        0,
        "meta_compact",
        "int",
        "Entries after which the meta log is compacted; 0 for 8,192.",
        minimum=0,
        reload=True,
    )
    meta_compact_size: int = option(
        0,
        "meta_compact_size",
        "size",
        "Bytes after which the meta log is compacted; 0 for 16 MiB.",
        minimum=0,
        reload=True,
    )
    meta_compact_sync: bool = option(
        False, "meta_compact_sync", "bool", "Wait until a compaction is done, as is always so.", reload=True
    )
    max_concurrent_io: int = option(
        4096, "max_concurrent_io", "int", "Disk operations at a time: at most 8.", minimum=4, maximum=8192
    )
