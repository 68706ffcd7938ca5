"""Signing: a request and the author's function enter; a `SignResult` leaves.

`sign` calls the function within its limits of time and threads, and checks what it returns;
`result` decides what an exception means, `redaction` keeps credentials out of its text.
"""
