"""``certwright shutdown-manager``: the container beside Envoy that drains it before it ends.

What enters are requests of kubelet, the hooks of containers that are to end; what leaves are
requests to Envoy's administration port, and answers once no connection is left.
"""
