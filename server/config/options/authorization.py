"""Options that say who may connect and what they may do: users, permissions, the authorization block."""

from __future__ import annotations

from ....protocol.lazy_dataclass import dataclass
from .field import MINUTE, option

CONNECTION_TYPES = ("STANDARD", "WEBSOCKET", "LEAFNODE", "LEAFNODE_WS", "MQTT", "MQTT_WS", "IN_PROCESS")


@dataclass(slots=True)
class SubjectPermission:
    """Allowed and denied subjects. If `allow` is None, all are allowed; if it is empty, none."""

    allow: list[str] | None = None
    deny: list[str] | None = None


@dataclass(slots=True)
class ResponsePermission:
    """The right to publish to the reply subjects of received messages.

    max_msgs: replies per request; negative for any number.
    expires: ns; negative for never.
    """

    max_msgs: int = 1
    expires: int = 2 * MINUTE


@dataclass(slots=True)
class PermissionsOptions:
    """A permissions map. Entries of `subscribe` may be "subject queue". None for a side is no restriction."""

    publish: SubjectPermission | None = None
    subscribe: SubjectPermission | None = None
    allow_responses: ResponsePermission | None = None


@dataclass(slots=True)
class UserOptions:
    """A user: `user` and `password`, or `nkey` (a public user key).

    account: filled in by the loader.
    """

    user: str = option("", "user username", "string", "User name.", reload=True)
    password: str = option(
        "", "password pass", "string", "Password, plain or bcrypt.", reload=True, secret=True
    )
    nkey: str = option("", "nkey", "string", "Public user key (`U...`) instead of a password.", reload=True)
    permissions: PermissionsOptions | None = option(
        None,
        "permissions permission authorization",
        "permissions",
        "What the user may publish and subscribe to.",
        reload=True,
    )
    allowed_connection_types: frozenset[str] | None = option(
        None,
        "allowed_connection_types connection_types clients",
        "connection_types",
        "Kinds of connection that the user may open: " + ", ".join(CONNECTION_TYPES) + ".",
        reload=True,
    )
    proxy_required: bool = option(
        False, "proxy_required", "bool", "Only through a trusted proxy.", reload=True
    )
    account: str = "$G"


@dataclass(slots=True)
class AuthCallout:
    """`auth_callout { }`: an outside service that decides who may connect."""

    issuer: str = option("", "issuer", "string", "Public account key that signs the answers.", reload=True)
    account: str = option("$G", "account acc", "string", "Account of the service.", reload=True)
    auth_users: list[str] = option(list, "auth_users users", "strings", "Users of the service.", reload=True)
    xkey: str = option(
        "", "xkey key", "string", "Public curve key that requests are encrypted for.", reload=True
    )
    allowed_accounts: list[str] = option(
        list,
        "allowed_accounts",
        "strings",
        "Accounts whose users the service is asked about, too. If unset: all.",
        reload=True,
    )


@dataclass(slots=True)
class AuthorizationOptions:
    """The `authorization { }` block: who may connect.

    timeout: None is derived, see Options.auth_timeout.
    """

    user: str = option("", "user username", "string", "The only user.", reload=True)
    password: str = option(
        "", "password pass", "string", "Its password, plain or bcrypt.", reload=True, secret=True
    )
    token: str = option(
        "", "token", "string", "A token, plain or bcrypt, instead of users.", reload=True, secret=True
    )
    timeout: int | None = option(
        None,
        "timeout",
        "seconds",
        "Time to log in. If unset: one second more than the TLS timeout, or 2s.",
        reload=True,
    )
    users: list[UserOptions] = option(
        list, "users", "users", "Users of account `$G`.", reload=True, section=UserOptions
    )
    default_permissions: PermissionsOptions | None = option(
        None,
        "default_permissions default_permission permissions",
        "permissions",
        "For users without permissions of their own.",
        reload=True,
    )
    auth_callout: AuthCallout | None = option(
        None,
        "auth_callout auth_hook",
        "section",
        "Ask a service who may connect.",
        reload=True,
        section=AuthCallout,
    )
    proxy_required: bool = option(
        False, "proxy_required", "bool", "Only through a trusted proxy.", reload=True
    )

    @property
    def is_set(self) -> bool:
        """Whether any option here requires a client to identify itself."""
        return bool(self.user or self.token or self.users or self.auth_callout)
