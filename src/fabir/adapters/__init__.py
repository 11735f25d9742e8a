"""Components for other libraries: a module for each. Importing one imports its library."""

from collections.abc import Iterator
from contextlib import contextmanager

from fabir.errors import InputError


class MissingPackageError(ModuleNotFoundError, InputError):
    """An adapter's library is not installed, or is too old: says what to install, in one line."""


@contextmanager
def needs(extra: str, library: str, *packages: str) -> Iterator[None]:
    """Within it a failed import from one of the packages is a `MissingPackageError`.

    Args:
        extra: the extra of fabir that brings the packages
        library: the library's name and oldest version, for people
    """
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in packages:
            raise
        message = f"this needs {library}: pip install 'fabir[{extra}]'"
        raise MissingPackageError(message, name=error.name) from error
