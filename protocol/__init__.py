"""The shared vocabulary: subjects, headers, wire operations, API types, errors. No I/O, no clock."""
