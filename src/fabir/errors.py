"""What ends a command: a user's mistake, which the command line makes one line and exit code 2, or
SIGTERM. And a warning, one line."""


class InputError(ValueError):
    """Input that cannot be used: says what is wrong, where, and what to do, in one line."""


class InputWarning(UserWarning):
    """Input that is used in part: says which part, in one line."""


class Terminated(SystemExit):
    """SIGTERM, a scheduler's or a container's request to stop, has ended a training."""

    def __init__(self) -> None:
        super().__init__(143)


def reason_of(error: OSError) -> str:
    """One line of what the system refused: a full disk, a folder that vanished."""
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}"
