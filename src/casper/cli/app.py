"""The command `casper`."""

import errno
import logging
import os
import sys
from collections.abc import Sequence
from importlib import metadata

import typer
from pydantic import ValidationError
from typer.exceptions import Abort, TyperException

from casper.cli.analyse import analyse
from casper.cli.command import Command, Group
from casper.cli.console import complain, print_in_any_encoding, say
from casper.cli.demo import demo
from casper.cli.doctor import doctor
from casper.cli.figure import FIGURE_HELP, figure
from casper.cli.list import list_names
from casper.cli.report import report
from casper.cli.reproduce import reproduce
from casper.cli.run import run
from casper.cli.search import search
from casper.cli.sweep import sweep
from casper.config import ConfigError
from casper.config.parameters import in_words
from casper.errors import DataError, NonFiniteLossError, out_of_memory
from casper.files import UnsafeFileError
from casper.runs.signals import RunInterrupted, RunStoppedError

_INTERRUPTED = 130
_HELP = """Continual learning with CaSpeR-IL: rehearsal methods, and a regularizer that can be added to any of them.

A first visit, in this order:

1. `casper demo`: compare ER-ACE with and without CaSpeR, in a minute; ends with a table and two pictures

2. `casper run --method der++ --out runs/der`: train another method; `casper list methods` has all of them

3. `casper report runs/demo runs/der`: summarize the finished runs in tables

`casper COMMAND --help` explains a command and its options.
"""
_RUNNING, _RESULTS, _INFORMATION = "Train", "Look at finished runs", "Information"


app = typer.Typer(
    name="casper",
    cls=Group,
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command("demo", cls=Command, rich_help_panel=_RUNNING)(demo)
app.command("run", cls=Command, rich_help_panel=_RUNNING)(run)
app.command("sweep", cls=Command, rich_help_panel=_RUNNING)(sweep)
app.command("search", cls=Command, rich_help_panel=_RUNNING)(search)
app.command("reproduce", cls=Command, rich_help_panel=_RUNNING)(reproduce)
app.command("report", cls=Command, rich_help_panel=_RESULTS)(report)
app.command("figure", cls=Command, help=FIGURE_HELP, rich_help_panel=_RESULTS)(figure)
app.command("analyse", cls=Command, rich_help_panel=_RESULTS)(analyse)
app.command("list", cls=Command, rich_help_panel=_INFORMATION)(list_names)
app.command("doctor", cls=Command, rich_help_panel=_INFORMATION)(doctor)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        say(f"casper-il {metadata.version('casper-il')}")
    elif context.invoked_subcommand is None:
        say(context.get_help())


# A path that cannot exist, as opposed to a disk that fails.
_WRONG_PATHS = (errno.EEXIST, errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. An invalid value or unusable data is one line on standard error and exit status 2.

    Args:
        arguments: The arguments after `casper`. Default: those of the process.

    Returns:
        The exit status.
    """
    print_in_any_encoding()
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it warns if it has to do without a cache
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        status = app(args=given, prog_name="casper", standalone_mode=False)
    except TyperException as error:
        return _end(_usage_message(error), 2)
    except (ConfigError, DataError, UnsafeFileError) as error:
        return _end(_single_spaced(str(error)), 2)
    except (NonFiniteLossError, RunStoppedError) as error:
        return _end(str(error), 1)
    except RunInterrupted as stop:
        return _end(str(stop), 128 + stop.signal)
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        status = 2 if error.errno in _WRONG_PATHS else 1
        return _end(_single_spaced(f"{error.filename or 'a file'} cannot be used: {error.strerror or error}"), status)
    except (MemoryError, RuntimeError) as error:
        if "home directory" in str(error):  # of pathlib
            return _end("there is no home directory; set HOME", 2)
        if (reason := out_of_memory(error)) is None:
            raise
        return _end(reason, 1)
    except (Abort, KeyboardInterrupt):
        status = _INTERRUPTED
    if status == _INTERRUPTED:  # typer returns this status on Ctrl-C and prints nothing
        return _end("interrupted", _INTERRUPTED)
    return status if isinstance(status, int) else 0


def _end(message: str, status: int) -> int:
    complain(" ".join(message.splitlines()))
    return status


def _usage_message(error: TyperException) -> str:
    """Word the error for a value of the wrong type as all other errors; the others are typer's."""
    if isinstance(error, typer.BadParameter) and error.param and isinstance(error.__cause__, ValidationError):
        return f"{error.param.opts[-1]} {in_words(error.__cause__)}"
    return _single_spaced(error.format_message())


def _single_spaced(message: str) -> str:
    return " ".join(message.split())
