"""What a server is to the operating system: its pid file, its ports file, and signals sent to it."""
