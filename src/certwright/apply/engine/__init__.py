"""The engine: one declared object and its rules go in; at most one write and an entry that
says what became of the object come out.
"""
