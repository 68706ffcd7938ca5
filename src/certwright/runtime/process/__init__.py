"""The process itself: event loop, threads, signals, memory and stalls."""
