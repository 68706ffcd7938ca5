"""HTTP/1.1 and TLS: a request goes in as a value, a response comes out as it arrives.

Connections, their pool, the parser, dialling and proxies. Nothing here knows about Kubernetes.
"""
