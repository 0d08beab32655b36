"""Operator mode: accounts and users by tokens that operators signed."""

from .operator import OperatorMode
from .trust import OperatorError, Trusted

__all__ = ["OperatorError", "OperatorMode", "Trusted"]
