"""`python -m casper`, and the command `casper`."""

import sys


def main() -> int:
    """Run the command line. Also while it is imported, which takes part of a second, Ctrl-C is one line."""
    try:
        from casper.cli.app import main
    except KeyboardInterrupt:
        print("casper: interrupted", file=sys.stderr)
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(main())
