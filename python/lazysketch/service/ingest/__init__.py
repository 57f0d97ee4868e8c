"""The ingest face of the service: batches of trusted senders, each counted once and durable.

============ ==================================================================
application  the ASGI application
commits      one commit for all requests that wait
bodies       from bytes to events
messages     from values of messages to events
events       the events of a batch, refused ones by position and code
envelopes    headers of a request, decompression, limits
counting     into the windows, each batch once
counters     what the operator sees of it
refusals     why a whole request is refused, as its sender reads it
============ ==================================================================
"""
