"""A user's mistake: the command line makes it one line and exit code 2. And a warning, one line."""


class InputError(ValueError):
    """Input that cannot be used: says what is wrong, where, and what to do, in one line."""


class InputWarning(UserWarning):
    """Input that is used in part: says which part, in one line."""


def reason_of(error: OSError) -> str:
    """One line of what the system refused: a full disk, a folder that vanished."""
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}"
