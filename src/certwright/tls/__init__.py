"""What a server presents in TLS handshakes: read from files, checked, swapped without a restart.

`directory` reads a pair and the authority of clients as kubelet projects them, `certificates`
decides from the bytes whether they are fit, and `server` gives the next handshake a context that
has them. What is unfit is refused by name, and the last good pair stays in use.
"""
