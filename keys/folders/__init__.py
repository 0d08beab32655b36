"""The folders that `nsc` keeps: its configuration, a store for each operator, and the keys and credentials.

They are read and written in such a way that `nsc` and pyjs can take turns on the same folders. Folders are
created with mode 0700, files with 0600; each file is written in one step.
"""
