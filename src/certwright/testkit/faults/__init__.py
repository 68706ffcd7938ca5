"""Faults: runs of a scenario in which something goes wrong, each reproducible from its seed.

A scenario and controllers enter, a `Run` leaves with the end state, or `SimulationFailed` with
the command to repeat it. `faults` says what can go wrong, `torture` and `simulation` choose
where, `interference` and `watches` carry it out between client and server, `process` restarts
what crashed, `endstate` compares how runs ended, `replay` repeats one.
"""
