"""The work of `nsc` as a library: operators, accounts and users made, edited and described in its folders.

Each module is named by what it works on; an operation takes a `Workspace` and gives a result with a `Report`.
"""
