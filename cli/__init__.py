"""The core of the command line: entry, lazy plugin table, contexts, connections, prompts and errors."""
