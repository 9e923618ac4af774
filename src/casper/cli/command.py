"""How a command of `casper` reads its options and prints its `--help` page."""

from collections import Counter
from typing import Any

from typer.core import TyperCommand, TyperGroup, TyperOption

from casper.cli.options import PANELS
from casper.config import ConfigError

# The panels that only one command has come after the first.
_ORDER: dict[str | None, float] = {None: -1, **{panel: number for number, panel in enumerate(PANELS)}}
_OWN = 0.5


class _HelpPage:
    """A help page with panels in one order for all commands, and no type next to an option without a value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return arguments and options in the order of their panels."""
        found = super().get_params(ctx)  # type: ignore[misc]
        grouped = any(parameter.rich_help_panel for parameter in found)
        for parameter in found:
            if isinstance(parameter, TyperOption) and parameter.is_flag:
                parameter.metavar, parameter.show_default = "", False
            if grouped and "--help" in parameter.opts:
                parameter.rich_help_panel = PANELS[-1]
        return sorted(found, key=lambda each: _ORDER.get(each.rich_help_panel, _OWN))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line, without the braces that typer puts around arguments."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]  # type: ignore[misc]


class Group(_HelpPage, TyperGroup):
    """`casper` itself."""


class Command(_HelpPage, TyperCommand):
    """A command that rejects an option given twice; typer would silently use the last value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Check the arguments, and parse them."""
        given = Counter(word.partition("=")[0] for word in args)
        options = [option for option in self.params if isinstance(option, TyperOption)]
        for option in options:
            twice = [name for name in option.opts if given[name] > 1]
            if twice and not (option.multiple or option.is_flag):
                raise ConfigError(f"{twice[0]} must be given once, but got it {given[twice[0]]} times")
        return super().parse_args(ctx, args)
