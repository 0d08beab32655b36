"""The status lines that a consumer sends instead of messages, word for word as the reference sends them."""

NO_MESSAGES = b"NATS/1.0 404 No Messages\r\n\r\n"
REQUESTS_PENDING = b"NATS/1.0 408 Requests Pending\r\n\r\n"
MAX_WAITING = b"NATS/1.0 409 Exceeded MaxWaiting\r\n\r\n"
PUSH_BASED = b"NATS/1.0 409 Consumer is push based\r\n\r\n"
CONSUMER_DELETED = b"NATS/1.0 409 Consumer Deleted\r\n\r\n"
LEADERSHIP_CHANGE = b"NATS/1.0 409 Leadership Change\r\n\r\n"
API_LEVEL = b"NATS/1.0 412 Required Api Level\r\n\r\n"
PIN_MISMATCH = b"NATS/1.0 423 Nats-Pin-Id mismatch\r\n\r\n"
NO_RESPONDERS = b"NATS/1.0 503\r\n\r\n"
FLOW_CONTROL = b"NATS/1.0 100 FlowControl Request\r\n\r\n"

# Statuses to use with `with_pending`.
REQUEST_TIMEOUT = "408 Request Timeout"
MAX_BYTES = "409 Message Size Exceeds MaxBytes"
BATCH_COMPLETED = "409 Batch Completed"
SERVER_SHUTDOWN = "409 Server Shutdown"
WRONG_PIN = "423 Nats-Wrong-Pin-Id"


def with_pending(status: str, messages: int, size: int) -> bytes:
    """Return a status with what was left of a pull request: messages of its batch, bytes of its max_bytes."""
    return (
        f"NATS/1.0 {status}\r\nNats-Pending-Messages: {messages}\r\nNats-Pending-Bytes: {size}\r\n\r\n"
    ).encode()


def error(code: int, description: str) -> bytes:
    """Return a status that refuses a request."""
    return f"NATS/1.0 {code} {description}\r\n\r\n".encode()


def idle_heartbeat(consumer_seq: int, stream_seq: int, stalled: str = "") -> bytes:
    """Return a heartbeat with the last sequences sent.

    stalled: the reply subject of the flow control request that is not answered yet, "" for none.
    """
    more = f"Nats-Consumer-Stalled: {stalled}\r\n" if stalled else ""
    return (
        "NATS/1.0 100 Idle Heartbeat\r\n"
        f"Nats-Last-Consumer: {consumer_seq}\r\nNats-Last-Stream: {stream_seq}\r\n{more}\r\n"
    ).encode()
