"""The service: events in from trusted senders, signed publications out to everyone.

One process holds the store and takes events. It publishes on a public clock, into a directory of
files that contain nothing but released values. Another process, which has neither a key nor an
exact count, serves these files to readers.

================= ==================================================================
settings          what the operator chose: streams, listeners, tokens, as one description
stream_settings   one stream: what is counted, and under which guarantee
publication       what everyone may see of a stream: windows, facts, signature
publication_files the directory between the two processes
signing           Ed25519 signatures of publications
================= ==================================================================

Needs the extra ``serve``.
"""
