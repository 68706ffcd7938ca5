"""The command line: one module or folder per command, named like the command.

What a person types enters: `main` puts the commands together, each ``command.py`` declares the
words, options and help of one, and the modules beside it do the work. They import what they need
only when the command runs, so that ``certwright --help`` stays quick. Results leave on standard
output, everything else on standard error, and a mistake is one line that says what to type instead.
"""
