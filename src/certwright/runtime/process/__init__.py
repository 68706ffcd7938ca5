"""The process around the controllers: its event loop and threads, signals that stop it, and
the memory it gives back. For the module that starts a process.
"""
