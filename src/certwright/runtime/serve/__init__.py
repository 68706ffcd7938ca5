"""What a process shows of itself: the state of its controllers and watches goes in; logs,
metrics, probes and the dump come out.
"""
