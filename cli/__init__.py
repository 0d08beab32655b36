"""The core of the command line: entry, lazy command table, contexts, connections, prompts and errors."""
