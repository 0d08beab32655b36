"""A server as a process of the operating system: its pid file, its ports file, and signals sent to it."""
