"""The streams of one account on this server: how they are created, changed, recovered and backed up."""
