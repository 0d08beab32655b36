"""Files of extents: what the store writes, encrypted or compressed on its way to the disk."""

from .disk import ExtentDisk
from .keys import CIPHERS, StoreKeys

__all__ = ["CIPHERS", "ExtentDisk", "StoreKeys"]
