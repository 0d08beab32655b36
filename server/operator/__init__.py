"""Operator mode: accounts and users by tokens that operators signed."""

from .operator import Operator
from .trust import OperatorError, Trusted

__all__ = ["Operator", "OperatorError", "Trusted"]
