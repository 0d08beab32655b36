"""One module or folder for each family of commands.

Built-in and third-party families are one mechanism: each is a `CommandRow` (a name and `module:attribute`),
and `cli.command.load` imports its click command when it is called. The rows of the families in this folder
stand in `cli/table.py`; those of other packages come from the entry point group `pyjs.plugins`, and cannot
replace a built-in one.
"""
