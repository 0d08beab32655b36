"""Trusted: which operators and keys may sign accounts, as the options say."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ...keys import Trust
from ...protocol.lazy_dataclass import dataclass
from ..accounts import AccountsError
from ..config.check.operator import fill_in, operator_token, read_operators

if TYPE_CHECKING:
    from ...keys import OperatorClaims
    from ..config.options import Options


class OperatorError(AccountsError):
    """A server cannot start in operator mode, because tokens, options or accounts are invalid."""


@dataclass(frozen=True, slots=True)
class Trusted:
    """The operators, read from their tokens, and the keys that follow.

    operators: empty if the options have only `trusted_keys`.
    trust: the keys that may sign accounts.
    tokens: the tokens of the operators.
    """

    operators: list[OperatorClaims]
    trust: Trust
    tokens: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: Options) -> Trusted:
        """Read the operators and fill in options that follow from their tokens. Raises OperatorError."""
        errors = fill_in(options)
        if errors:
            raise OperatorError("; ".join(error.text for error in errors))
        if not options.operator:
            return cls([], Trust.in_keys(options.trusted_keys))
        operators = read_operators(options)
        tokens = tuple(operator_token(entry) for entry in options.operator)
        return cls(operators, Trust.in_operators(operators), tokens)

    def described(self) -> list[str]:
        """Return the lines that the log shows about the operators at the start."""
        lines = ["Trusted Operators"] if self.operators else []
        for each in self.operators:
            lines.append(f'  System  : "{each.aud}"')
            lines.append(f'  Operator: "{each.name}"')
            lines.append(f"  Issued  : {_date(each.iat)}")
            lines.append(f"  Expires : {_date(each.exp) if each.exp else 'Never'}")
        return lines

    @property
    def only(self) -> OperatorClaims | None:
        """The operator, if there is exactly one."""
        return self.operators[0] if len(self.operators) == 1 else None


def _date(seconds: int) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S +0000 UTC")
    except (OverflowError, ValueError, OSError):  # a date after the year 9999
        return f"{seconds} s since 1970"
