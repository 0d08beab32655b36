"""Accounts: who may connect, what they may say and hear, and who hears what.

The router's door: `Account`, `Message`, `Subscription`, `Registry`. Pure of I/O and of the loop, time apart.
"""

from .account import Account, Watch
from .charter import Charter
from .draft import AccountsError
from .parcel import Message, Parcel
from .registry import Registry
from .source import INTERNAL, Kind, LeafSink, Sink, Source
from .subscription import InterestChange, Subscription

__all__ = [
    "INTERNAL",
    "Account",
    "AccountsError",
    "Charter",
    "InterestChange",
    "Kind",
    "LeafSink",
    "Message",
    "Parcel",
    "Registry",
    "Sink",
    "Source",
    "Subscription",
    "Watch",
]
