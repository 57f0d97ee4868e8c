"""Speed, beside what people would use instead: ``python -m benches.python``, or ``make bench``."""
