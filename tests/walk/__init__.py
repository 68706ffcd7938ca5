"""Walks three journeys of an object through the code and writes down the files it passes.

Run it with ``make walk``. Each journey runs against the embedded API server over a real socket.
The server has a thread of its own, so that the tracer of the one side does not see the other.
"""
