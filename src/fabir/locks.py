"""Locks that are safe across `os.fork`, whichever thread holds them at that moment."""

import os
import threading
from weakref import WeakSet

_guard = threading.RLock()
_locks: "WeakSet[threading.RLock]" = WeakSet()
_held: list[threading.RLock] = []


def make_lock() -> threading.RLock:
    """A lock that no other thread holds while this process forks.

    Only the thread that forks exists in the child. A lock of another thread would stay locked there
    for ever, and its data would be inconsistent. A fork therefore waits until the lock is free.
    Hold the lock briefly, and never wait for a second such lock while holding it.
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
