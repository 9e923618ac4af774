"""`python -m casper`."""

import sys

from casper.cli.app import main

sys.exit(main())
