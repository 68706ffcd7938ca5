"""Time in tests: an event loop in which waiting costs nothing."""
