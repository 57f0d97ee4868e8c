"""The admin face: what the operator of a service sees and does; never open to readers.

================= ==================================================================
application       addresses: streams, spend, finish, rotation, readiness
exporting         what was published of a stream as one archive
openapi           the document of the operator and of senders
operations        exact rates of the service as metrics of Prometheus
================= ==================================================================
"""
