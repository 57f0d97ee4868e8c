"""Speed, beside what people would use instead: ``python -m benches``, or ``make bench``."""
