"""The command families: one module or folder for each.

Built-in and third-party families use the same mechanism: each is a `CommandRow` (a name and
`module:attribute`), and `cli.command.load` imports its click command when it is called. The rows of the
families in this folder are in `cli/table.py`. Those of other packages come from the entry point group
`pyjs.plugins` and cannot replace a built-in one.
"""
