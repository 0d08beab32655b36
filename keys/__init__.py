"""Identity: nkeys, JWT claims, the trust chain and credentials files."""
