"""The queue: keys go in when something changed; calls of a reconcile function come out, and
what they return or raise decides when the key comes back.

`queue` orders and delays keys, `workers` turns changes into keys and keys into reconciles,
`backoff` computes how long to wait after failures.
"""
