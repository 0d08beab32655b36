"""Accounts: who may connect, what they may say and hear, and who hears what.

The router's door: `Account`, `Message`, `Subscription`, `AccountRegistry`. Pure of I/O and of the loop, time
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
