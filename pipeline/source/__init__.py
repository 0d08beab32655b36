"""The data source `jetstream`: batch and stream reads of JetStream streams."""
