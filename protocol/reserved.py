"""Subjects, and first tokens of subjects, that servers use among themselves, as `str`.

The names in brackets are nats-server's.
"""

from typing import Final

SERVICE_REPLY: Final = "_R_."  # replies through a service import (replyPrefix, accounts.go)
GATEWAY_REPLY: Final = "_GR_."  # replies through a gateway (gwReplyPrefix, gateway.go)
ACK: Final = "$JS.ACK."  # acknowledgements of messages (jsAckPre, jetstream_api.go)
AUTH_CALLOUT: Final = "$SYS.REQ.USER.AUTH"  # asks a callout service (AuthCalloutSubject, auth_callout.go)
FAST_BATCH: Final = ".$FI"  # ends the reply subjects of fast batches (FastBatchSuffix, stream.go)
DIRECT_GET: Final = "$JS.API.DIRECT.GET."  # reads of stored messages (JSDirectMsgGet, jetstream_api.go)
