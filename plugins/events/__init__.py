"""`pyjs events`: advisories, metrics and server events, in words."""
