"""Time in tests: an event loop in which waiting costs nothing.

`VirtualLoop` jumps to the next timer when nothing is ready, and `VirtualClock` shows its time
to code that asks for the wall clock. Given a seed, the order of ready tasks is reproducible.
"""
