"""Numbers and durations, as people say them."""


def counted(count: int, noun: str) -> str:
    """Say how many: `1 run`, `3 runs`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def duration(seconds: float) -> str:
    """Say how long: `45 s`, `12 min`, `3 h 20 min`, `2 d 5 h`."""
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
    """Show a difference; never `-0.00`."""
    return f"{round(value, decimals) + 0.0:+.{decimals}f}"
