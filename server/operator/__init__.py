"""Operator mode: accounts and users come from tokens (JWTs) that trusted operators signed."""

from .operator import OperatorMode
from .trust import OperatorError, Trusted

__all__ = ["OperatorError", "OperatorMode", "Trusted"]
