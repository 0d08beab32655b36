"""Accounts: who may connect, what they may publish and receive, and who receives what.

`Account`, `Message`, `Subscription` and `AccountRegistry` are the interface of the router. Nothing here does
I/O or knows the event loop, except through the clock.
"""

from .account import Account
from .account_spec import AccountsError
from .account_token import AccountToken
from .registry import AccountRegistry
from .space import InterestWatch
from .subscription import (
    INTERNAL,
    ConnectionKind,
    InterestChange,
    Message,
    MessageEndpoint,
    RoutedMessage,
    Subscription,
)

__all__ = [
    "INTERNAL",
    "Account",
    "AccountRegistry",
    "AccountToken",
    "AccountsError",
    "ConnectionKind",
    "InterestChange",
    "InterestWatch",
    "Message",
    "MessageEndpoint",
    "RoutedMessage",
    "Subscription",
]
