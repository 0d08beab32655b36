"""From the tree of a configuration to options: one reader per kind of value."""
