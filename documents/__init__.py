"""Files that people write, as YAML or JSON: read with the place of every value, for errors that name it."""
