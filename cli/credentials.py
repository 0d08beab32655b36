"""Credentials files, and user JWTs and seeds that were given apart, as one."""

from __future__ import annotations

from ..client import secret
from .errors import CliError, UsageError
from .profile import Profile

SECOND = 1_000_000_000


def credentials_of(given: str) -> str:
    """Return the text of a credentials file, or the text that was given. Raises CliError if it is none."""
    from ..keys.decorated import parse_credentials
    from ..keys.errors import IdentityError

    text = secret.text_or_file("creds", given, "-----BEGIN")
    try:
        parse_credentials(text)
    except IdentityError as error:
        raise CliError(str(error)) from None
    return text


def jwt_credentials(profile: Profile) -> str:
    """Return the user JWT and its seed as the text of a credentials file. Raises CliError."""
    jwt = secret.text_or_file("jwt", profile.text("user_jwt"), "eyJ")
    seed = profile.text("user_seed")
    if not seed:
        raise UsageError("a user JWT needs its seed", "give it with --seed")
    seed = seed if seed.startswith("SU") else secret.text_or_file("seed", seed, "-----BEGIN")
    return _creds_text(jwt, seed_of(seed))


def token_of(profile: Profile) -> tuple[str, int | None]:
    """Return the name in the user's token, and when it expires, in ns since 1970; None for never.

    ("", None) if the user has no token, or one that cannot be read.
    """
    from ..keys.decorated import parse_credentials
    from ..keys.errors import IdentityError
    from ..keys.token import payload_of

    creds = profile.text("creds") or profile.text("nsc")
    try:
        if creds:
            text = secret.text_or_file("creds", creds, "-----BEGIN")
        elif profile.text("user_jwt"):
            text = jwt_credentials(profile)
        else:
            return "", None
        payload = payload_of(parse_credentials(text).jwt)
        end = int(payload.get("exp") or 0)
    except (CliError, IdentityError, TypeError, ValueError):
        return "", None  # the connection fails for it, and says so
    return str(payload.get("name", "")), end * SECOND if end else None


def seed_of(text: str) -> str:
    """Return the line with the seed in a seed file, decorated or not."""
    import nkeys

    for line in text.splitlines():
        if line.strip().startswith("S") and "-" not in line:
            try:
                nkeys.from_seed(bytearray(line.strip().encode()))
            except (nkeys.NkeysError, ValueError):
                raise CliError("the nkey is not a valid seed", "seeds of users start with SU") from None
            return line.strip()
    raise CliError("no seed found in the nkey file", "seeds of users start with SU")


def _creds_text(jwt: str, seed: str) -> str:
    return (
        f"-----BEGIN NATS USER JWT-----\n{jwt.strip()}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed.strip()}\n------END USER NKEY SEED------\n"
    )
