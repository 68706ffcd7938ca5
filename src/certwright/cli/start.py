"""Where the command ``certwright`` starts: Ctrl-C is quiet from the first import on."""

import sys


def main() -> None:
    """Import the command line, which takes a moment, and run it."""
    try:
        from certwright.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()
