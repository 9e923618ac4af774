"""The command line: the only layer that knows names, files and argv."""
