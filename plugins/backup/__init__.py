"""`pyjs backup`: backups of streams and of whole accounts, checked and encrypted.

`save`, `restore`, `verify` and `compare` are the library: they know no command line. What they write is
described in `folder.py` and `manifest.py`.
"""
