"""The service's logs, in text or JSON: requests go to stdout, everything else to stderr."""

import logging
import logging.config
import warnings
from typing import Any

from asgi_correlation_id import CorrelationIdFilter
from pythonjsonlogger.json import JsonFormatter

from fabir.errors import InputError

FORMATS = "text", "json"
_REQUEST = (
    '%(asctime)s %(client)s "%(method)s %(path)s" %(status)d %(milliseconds).1f ms '
    "%(correlation_id)s"
)
_JSON = {
    "()": JsonFormatter,
    "fmt": "%(levelname)s %(name)s %(message)s %(correlation_id)s",
    "rename_fields": {"levelname": "level", "name": "logger", "correlation_id": "request_id"},
    "timestamp": "time",
}
_FORMATTERS: dict[str, dict[str, Any]] = {
    "text": {
        "request": {"format": _REQUEST},
        "notice": {"format": "%(message)s"},
        "bug": {"format": "%(asctime)s %(message)s of request %(correlation_id)s"},
    },
    "json": {"request": _JSON, "notice": _JSON, "bug": _JSON},
}
notices = logging.getLogger("fabir.serve")


def configure_logs(form: str = "text", requests: bool = True) -> None:
    """Let the loggers of the service write.

    Args:
        form: one of `FORMATS`
        requests: whether to log every request

    Raises:
        InputError: there is no such format.
    """
    if form not in FORMATS:
        raise InputError(f"there is no log format {form!r}: choose {' or '.join(FORMATS)}")
    handlers = {
        kind: {
            "class": "logging.StreamHandler",
            "stream": "ext://sys.stdout" if kind == "request" else "ext://sys.stderr",
            "formatter": kind,
            "filters": ["request_id"],
        }
        for kind in ("request", "notice", "bug")
    }
    loggers: dict[str, dict[str, Any]] = {
        "fabir.access": {"handlers": ["request"], "level": "INFO" if requests else "CRITICAL"},
        "fabir.serve": {"handlers": ["notice"], "level": "INFO"},
        "uvicorn.error": {"handlers": ["bug"], "level": "ERROR"},  # clients cause its warnings
        "asgi_correlation_id": {"level": "ERROR"},  # and these
    }
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "filters": {"request_id": {"()": CorrelationIdFilter}},
            "formatters": _FORMATTERS[form],
            "handlers": handlers,
            "loggers": {name: {**each, "propagate": False} for name, each in loggers.items()},
        }
    )
    # A log that cannot be written, such as that to a closed pipe, does not stop the service.
    logging.raiseExceptions = False
    warnings.showwarning = _log_warning


def _log_warning(message: Warning | str, *place: Any) -> None:
    notices.warning("%s", message)
