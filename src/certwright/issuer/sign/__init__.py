"""Signing: a request and the author's function enter; a checked bundle or a verdict leaves.

`sign` calls the function within its limits of time and threads, and checks what it returns.
"""
