"""Defaults and bounds, with their reasons. The relations between them are asserted on import.

Sizes are in bytes, durations in nanoseconds. Values are the reference's unless a comment says otherwise.
"""

from typing import Final

from .duration import HOUR, MILLISECOND, MINUTE, SECOND

KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB

# The wire.
MAX_CONTROL_LINE: Final = (
    4 * KIB
)  # subjects and inboxes are far shorter; bounds the memory that a stranger can make us use
LEAF_CONTROL_LINE_FACTOR: Final = 16  # leaf frames carry lists of queue groups
MAX_PAYLOAD: Final = 1 * MIB
MAX_PAYLOAD_WARN: Final = 8 * MIB  # above it one message holds up a connection for too long
MAX_PENDING: Final = 64 * MIB  # queued for one slow client before it is cut
MAX_CONNECTIONS: Final = 64 * KIB
MAX_HEADER: Final = 65_535  # JetStream refuses a header whose length exceeds sixteen bits (error 10097)
MAX_SIZE_DIGITS: Final = 9  # digits of a size on the wire

# Ports.
CLIENT_PORT: Final = 4222
LEAF_PORT: Final = 7422
CLUSTER_PORT: Final = 6222
HTTP_PORT: Final = 8222

# Connection timers.
PING_INTERVAL: Final = 2 * MINUTE
PING_MAX: Final = 2
FIRST_PING: Final = 2 * SECOND  # a client's first ping comes early, to measure its round trip
AUTH_TIMEOUT: Final = 2 * SECOND
TLS_TIMEOUT: Final = 2 * SECOND
WRITE_DEADLINE: Final = 10 * SECOND
LAME_DUCK_DURATION: Final = 2 * MINUTE
LAME_DUCK_GRACE_PERIOD: Final = 10 * SECOND
LEAF_RECONNECT: Final = 1 * SECOND
LEAF_LOOP_DELAY: Final = 30 * SECOND  # a leaf that made a loop, or broke a permission, waits this long
LEAF_INFO_WAIT: Final = 2 * SECOND

# Accounts.
RESPONSE_MAX_MSGS: Final = 1
RESPONSE_EXPIRATION: Final = 2 * MINUTE
SERVICE_RESPONSE_THRESHOLD: Final = 2 * MINUTE

# JetStream.
API_LEVEL: Final = 1  # the highest level whose features are all supported; reported to clients
KNOWN_API_LEVEL: Final = 5  # the highest level of which any feature is supported: those of consumers
API_QUEUE: Final = 10_000  # pending requests before they are dropped
NAME_LENGTH: Final = 255  # names become file names
DESCRIPTION_LENGTH: Final = 4 * KIB
METADATA_SIZE: Final = 128 * KIB
STREAM_NAMES_PAGE: Final = 1024
STREAM_LIST_PAGE: Final = 256
SUBJECT_DETAILS_PAGE: Final = 100_000
MAX_REPLICAS: Final = 5
MAX_RECORD: Final = 32 * MIB
DUPLICATE_WINDOW: Final = 2 * MINUTE
MIN_DUPLICATE_WINDOW: Final = 100 * MILLISECOND
MIN_MAX_AGE: Final = 100 * MILLISECOND
MIN_MARKER_TTL: Final = 1 * SECOND
ACK_WAIT: Final = 30 * SECOND
MAX_ACK_PENDING: Final = 1000
MAX_WAITING: Final = 512
INACTIVE_THRESHOLD: Final = 5 * SECOND  # of ephemeral consumers
FLOW_CONTROL_WINDOW: Final = 32 * MIB
PRIORITY_TIMEOUT: Final = 2 * MINUTE
MIN_IDLE_HEARTBEAT: Final = 100 * MILLISECOND
MULTI_LAST_RESULTS: Final = 1024
MAX_BATCH: Final = 1000  # messages of one atomic batch
BATCH_TIMEOUT: Final = 10 * SECOND
MAX_MSG_ID: Final = 64  # characters of a batch's id
SOURCE_ACK_WAIT: Final = 22 * HOUR
SOURCE_HEALTH_CHECK: Final = 10 * SECOND


def _check(holds: bool, why: str) -> None:
    if not holds:
        raise AssertionError(why)


_check(MAX_PAYLOAD <= MAX_PAYLOAD_WARN <= MAX_PENDING, "a client must be able to get one largest message")
_check(MAX_PAYLOAD_WARN + MAX_HEADER < MAX_RECORD, "a largest message must fit a stored record")
_check(MAX_PENDING < 10**MAX_SIZE_DIGITS, "every size must be writable on the wire")
_check(AUTH_TIMEOUT < PING_INTERVAL, "a silent stranger must be cut before it is pinged")
_check(MIN_DUPLICATE_WINDOW <= DUPLICATE_WINDOW, "the default window must be allowed")
_check(SOURCE_HEALTH_CHECK > SECOND, "a source must miss several heartbeats before it is made again")
_check(FLOW_CONTROL_WINDOW < MAX_PENDING, "flow control must stop before a consumer is cut as slow")
