"""The command `casper`."""

import os
import sys
from collections.abc import Sequence
from importlib import metadata

import typer
from typer.exceptions import Abort, TyperException

from casper.cli.analyse import analyse
from casper.cli.console import complain, say
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
from casper.errors import DataError, NonFiniteLossError
from casper.runs.signals import RunInterrupted, RunStoppedError

_INTERRUPTED = 130

app = typer.Typer(
    name="casper",
    help="Continual learning with CaSpeR-IL: rehearsal methods, and a regularizer for any of them.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command("run")(run)
app.command("sweep")(sweep)
app.command("search")(search)
app.command("reproduce")(reproduce)
app.command("report")(report)
app.command("analyse")(analyse)
app.command("figure", help=FIGURE_HELP)(figure)
app.command("list")(list_names)
app.command("demo")(demo)
app.command("doctor")(doctor)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        say(f"casper-il {metadata.version('casper-il')}")
    elif context.invoked_subcommand is None:
        say(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; a bad value is one line on standard error and status 2.

    Args:
        arguments: What follows `casper`; default: the process's own.

    Returns:
        The exit status.
    """
    try:
        status = app(args=None if arguments is None else list(arguments), standalone_mode=False)
    except TyperException as error:
        return _end(_single_spaced(error.format_message()), 2)
    except (ConfigError, DataError) as error:
        return _end(_single_spaced(str(error)), 2)
    except (NonFiniteLossError, RunStoppedError) as error:
        return _end(str(error), 1)
    except RunInterrupted as stop:
        return _end(str(stop), 128 + stop.signal)
    except BrokenPipeError:  # whoever read the output has gone; there is nobody to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _end(_single_spaced(f"{error.filename or 'a file'} cannot be used: {error.strerror or error}"), 1)
    except (Abort, KeyboardInterrupt):
        status = _INTERRUPTED
    if status == _INTERRUPTED:  # typer answers Ctrl-C with this status and without a word
        return _end("interrupted", _INTERRUPTED)
    return status if isinstance(status, int) else 0


def _end(message: str, status: int) -> int:
    complain(message)
    return status


def _single_spaced(message: str) -> str:
    return "\n".join(" ".join(line.split()) for line in message.splitlines())
