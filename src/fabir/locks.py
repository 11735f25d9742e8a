"""Locks that live through `os.fork`, whichever thread holds them at that moment."""

import os
import threading
from weakref import WeakSet

_guard = threading.RLock()
_locks: "WeakSet[threading.RLock]" = WeakSet()
_held: list[threading.RLock] = []


def make_lock() -> threading.RLock:
    """A lock that no thread holds while this process is forked.

    A child has no other thread than the one that forked. A lock held by another one would stay
    locked there for ever, and what it protects would be half changed. So a fork waits for it. Hold
    it for moments, and wait for no other such lock meanwhile.
    """
    lock = threading.RLock()
    with _guard:
        _locks.add(lock)
    return lock


def _before_fork() -> None:
    _guard.acquire()
    _held.extend(_locks)
    for lock in _held:
        lock.acquire()


def _after_fork() -> None:
    for lock in _held:
        lock.release()
    _held.clear()
    _guard.release()


if hasattr(os, "register_at_fork"):  # not on Windows, where there is no fork
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
