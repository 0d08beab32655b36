"""The words everyone speaks: subjects, headers, wire operations, API types, errors. No I/O, no clock."""
