"""The read face: what everyone may see, as cached bytes of the last publication.

It runs in a process of its own, which reads the directory of publications and nothing else.

================= ==================================================================
process           the process: its start, its listener
application       addresses, headers, errors
feed              events that tell of each publication
openapi           the description of the addresses for programs
exposition        public counts as gauges of Prometheus
published_streams publications as they are shown, from their instant on
answers           answers of one publication, made once, as bytes
queries           parameters of an address, checked
views             what an answer contains, as plain values
================= ==================================================================
"""
