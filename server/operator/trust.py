"""Trusted: whose signatures make accounts, as the options say it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ...keys import Trust
from ..accounts import AccountsError
from ..config.check.operator import fill_in, operator_token, read_operators

if TYPE_CHECKING:
    from ...keys import OperatorClaims
    from ..config.options import Options


class OperatorError(AccountsError):
    """A server that cannot start in operator mode: tokens, options or accounts that cannot be."""


@dataclass(frozen=True, slots=True)
class Trusted:
    """The operators by their tokens (none with bare `trusted_keys`), and the keys that follow."""

    operators: list[OperatorClaims]
    trust: Trust
    tokens: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: Options) -> Trusted:
        """Read the operators and fill in what the options leave to their tokens. Raises OperatorError."""
        errors = fill_in(options)
        if errors:
            raise OperatorError("; ".join(error.text for error in errors))
        if not options.operator:
            return cls([], Trust.in_keys(options.trusted_keys))
        operators = read_operators(options)
        tokens = tuple(operator_token(entry) for entry in options.operator)
        return cls(operators, Trust.in_operators(operators), tokens)

    def described(self) -> list[str]:
        """What the log says of the operators at the start."""
        lines = ["Trusted Operators"] if self.operators else []
        for each in self.operators:
            lines.append(f'  System  : "{each.aud}"')
            lines.append(f'  Operator: "{each.name}"')
            lines.append(f"  Issued  : {_date(each.iat)}")
            lines.append(f"  Expires : {_date(each.exp) if each.exp else 'Never'}")
        return lines

    @property
    def only(self) -> OperatorClaims | None:
        """The operator, when there is just one."""
        return self.operators[0] if len(self.operators) == 1 else None


def _date(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S +0000 UTC")
    except (OverflowError, ValueError, OSError):  # beyond the year 9999
        return f"{seconds} s since 1970"
