"""`pyjs demo …`: whole scenarios on servers of your own, played and checked."""
