"""The event loop of a process."""

import asyncio


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return uvloop's if it is installed (the extra `speed`), else the standard library's.

    The faster one also needs less memory: a quarter for the TLS of each connection.
    """
    try:
        import uvloop  # noqa: PLC0415 - it may not be there
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
