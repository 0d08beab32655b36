"""What JetStream had in 2020 and has no longer: the first API, and stream templates (`legacy_api`)."""
