"""JetStream accounts: usage, limits, tiers and API counters, as the answer to $JS.API.INFO has them."""

from ..lazy_dataclass import dataclass
from .fields import flag, number, part, record_map, text
from .record import Record

UNLIMITED = -1


@dataclass(slots=True)
class AccountLimits(Record):
    """Limits of an account or of a tier. Sizes are in bytes; -1 is unlimited."""

    max_memory: int = number(keep=True)
    max_storage: int = number(keep=True)
    max_streams: int = number(keep=True, go_type="int")
    max_consumers: int = number(keep=True, go_type="int")
    max_ack_pending: int = number(keep=True, go_type="int")
    memory_max_stream_bytes: int = number(keep=True)
    storage_max_stream_bytes: int = number(keep=True)
    max_bytes_required: bool = flag(keep=True)


@dataclass(slots=True)
class ApiStats(Record):
    """Counters of API requests, and the API level of the server (`level`)."""

    level: int = number(keep=True, go_type="int")
    total: int = number(keep=True, go_type="uint64")
    errors: int = number(keep=True, go_type="uint64")
    inflight: int = number(go_type="uint64")


@dataclass(slots=True)
class AccountTier(Record):
    """Usage and limits of one tier (R1, R3, ...)."""

    memory: int = number(keep=True, go_type="uint64")
    storage: int = number(keep=True, go_type="uint64")
    reserved_memory: int = number(keep=True, go_type="uint64")
    reserved_storage: int = number(keep=True, go_type="uint64")
    streams: int = number(keep=True, go_type="int")
    consumers: int = number(keep=True, go_type="int")
    limits: AccountLimits = part(AccountLimits)


@dataclass(slots=True)
class AccountInfo(Record):
    """Usage and limits of an account. If it has tiers, these are the totals, and `tiers` has the limits."""

    memory: int = number(keep=True, go_type="uint64")
    storage: int = number(keep=True, go_type="uint64")
    reserved_memory: int = number(keep=True, go_type="uint64")
    reserved_storage: int = number(keep=True, go_type="uint64")
    streams: int = number(keep=True, go_type="int")
    consumers: int = number(keep=True, go_type="int")
    limits: AccountLimits = part(AccountLimits)
    domain: str = text()
    api: ApiStats = part(ApiStats)
    tiers: dict[str, AccountTier] = record_map(AccountTier)
