"""The one exception for a user's mistake: the command line makes it one line and exit code 2."""


class InputError(ValueError):
    """Input that cannot be used: says what is wrong, where, and what to do, in one line."""
