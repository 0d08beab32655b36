"""Accounts: who may connect, what they may publish and receive, and who receives what.

The router's interface: `Account`, `Message`, `Subscription`, `AccountRegistry`. No I/O and no loop, time
apart.
"""

from .account import Account, InterestWatch
from .account_spec import AccountsError
from .account_token import AccountToken
from .message import Message, RoutedMessage
from .registry import AccountRegistry
from .source import INTERNAL, ConnectionKind, LeafSink, MessageSink, MessageSource
from .subscription import InterestChange, Subscription

__all__ = [
    "INTERNAL",
    "Account",
    "AccountRegistry",
    "AccountToken",
    "AccountsError",
    "ConnectionKind",
    "InterestChange",
    "InterestWatch",
    "LeafSink",
    "Message",
    "MessageSink",
    "MessageSource",
    "RoutedMessage",
    "Subscription",
]
