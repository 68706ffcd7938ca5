"""Signing: a request and the author's function enter; a `SignResult` leaves.

`sign` calls the function within its limits of time and threads, and checks what it returns;
`result` decides what an exception means, with `httperrors` for those of HTTP libraries and `window`
for how long it is retried; `redaction` keeps credentials out of its text, and `faults` puts it into
the log. `threads` run functions that are not async.
"""
