"""Files of extents: what the store writes, encrypted or compressed on its way to the disk."""
