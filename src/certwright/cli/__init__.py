"""The command line: everything meets here and only here."""
