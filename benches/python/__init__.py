"""Speed of the library and of alternatives: ``python -m benches.python``, or ``make bench``."""
