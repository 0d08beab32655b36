"""The work of `nsc` as a library: making, editing and describing operators, accounts and users.

Each module is named after what it works on. An operation takes a `Workspace` and returns a result with a
`Report`.
"""
