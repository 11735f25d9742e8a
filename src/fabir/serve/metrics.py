"""The service's metrics for Prometheus."""

import platform

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    generate_latest,
)

from fabir import __version__

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.5, 1, 2.5, 5, 10)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The measurements of one service."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        Info("fabir_build", "Versions", registry=registry).info(
            {"version": __version__, "python": platform.python_version()}
        )
        self.requests = Counter("fabir_requests", "Requests", ["path", "status"], registry=registry)
        self.in_progress = Gauge(
            "fabir_requests_in_progress",
            "Requests that are being answered",
            ["path"],
            registry=registry,
        )
        self.seconds = Histogram(
            "fabir_request_seconds",
            "From the arrival of a request to the end of its response",
            ["path"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.batches = Histogram(
            "fabir_batch_questions", "Questions read together", buckets=_SIZES, registry=registry
        )
        self.questions = Counter(
            "fabir_questions",
            "Questions that were read, by whether an answer was given",
            ["path", "result"],
            registry=registry,
        )
        self.reloads = Counter(
            "fabir_reloads", "Reloads of model and index", ["result"], registry=registry
        )
        for result in ("done", "failed"):
            self.reloads.labels(result)  # begins at 0, so that rate() sees the first reload
        self.waiting = Gauge("fabir_waiting_words", "Words that wait to be read", registry=registry)

    def count_question(self, path: str, answered: bool) -> None:
        """Count a question that was read."""
        self.questions.labels(path, "answer" if answered else "no answer").inc()

    def text(self) -> bytes:
        """The measurements in the format of Prometheus."""
        return generate_latest(self.registry)
