"""JetStream API types: dataclasses that read and write the reference's JSON, unknown fields included."""
