"""The queue: keys go in when something changed; calls of a reconcile function come out, and
what they return or raise decides when the key comes back.
"""
