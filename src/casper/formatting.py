"""Format counts, durations, differences and text of unknown origin for people."""


def counted(count: int, noun: str) -> str:
    """Format a count with its noun: `1 run`, `3 runs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def duration(seconds: float) -> str:
    """Format a duration: `45 s`, `12 min`, `3 h 20 min`, `2 d 5 h`."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def signed(value: float, decimals: int = 2) -> str:
    """Format a difference with its sign; never `-0.00`."""
    return f"{round(value, decimals) + 0.0:+.{decimals}f}"


def printable(text: str) -> str:
    """Replace the control characters in text from files and data sets by question marks, for terminals and figures."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def printable_lines(text: str) -> str:
    """Replace the control characters in text, except line breaks."""
    return "\n".join(map(printable, text.split("\n")))
