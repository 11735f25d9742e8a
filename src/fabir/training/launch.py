"""Runs one training on all cores: one process each, or the processes of a launcher."""

import gc
import multiprocessing
import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch.multiprocessing.spawn import ProcessContext, ProcessExitedException, start_processes

from fabir.data.dataset import Dataset
from fabir.errors import InputError, Terminated, reason_of
from fabir.process_settings import TRAINING, temporary_defaults
from fabir.runtime.torch_model import TorchModel
from fabir.terminal import prepare_streams
from fabir.training.examples import Examples
from fabir.training.loop import Trainer
from fabir.training.settings import TrainingConfig
from fabir.training.stopping import handling

_GRACE = 10.0  # seconds for a process to save what it has learnt
_LEAST = 16  # questions of a batch for each process, at least


@dataclass(frozen=True)
class Job:
    """The arguments of a `Trainer`."""

    reader: TorchModel
    config: TrainingConfig
    examples: Examples
    dev: Dataset
    output: Path
    settings: str
    resume: bool
    log_with: tuple[str, ...] = ()

    def run(self) -> None:
        """Train in this process, which may be one of several of a launcher."""
        Trainer(
            self.reader,
            self.config,
            self.examples,
            self.dev,
            self.output,
            settings=self.settings,
            resume=self.resume,
            log_with=self.log_with,
        ).run()


def best_processes(config: TrainingConfig) -> int:
    """The number of processes that trains fastest here.

    On a CPU several processes with one thread each are faster than one process with several
    threads, which wait for each other at every operation. A launcher (accelerate, torchrun) has
    decided already. A GPU needs one process.
    """
    if in_launcher() or torch.cuda.is_available():
        return 1
    return max(1, min(torch.get_num_threads(), config.batch_size // _LEAST))


def launch(job: Job, processes: int) -> None:
    """Run a job in `processes` processes on this machine; 1 means this process.

    Several processes get copies of the job. The job's memory in this process is freed, if the
    caller holds no reference to it.

    Raises:
        InputError: fewer than one process, or an InputError of one of them.
    """
    if processes < 1:
        raise InputError(f"training needs at least 1 process, not {processes}")
    if processes == 1:
        job.run()
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    threads = max(1, torch.get_num_threads() // processes)
    surroundings = {
        "OMP_NUM_THREADS": str(
            threads
        ),  # otherwise accelerate sets it, and says so in every process
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(processes),
        "LOCAL_WORLD_SIZE": str(processes),
        "ACCELERATE_USE_CPU": "true",
    }
    # The job goes through a file. Tensors as arguments would share memory between processes, and
    # bytes as arguments would stay in memory.
    with TemporaryDirectory() as folder:
        packed, complaint = Path(folder, "job"), Path(folder, "complaint")
        with open(packed, "wb") as file:
            pickle.dump(job, file)
        del job
        arguments = (packed, complaint, surroundings, threads)
        started: ProcessContext | None = None
        try:
            with handling(_terminate, signal.SIGTERM):
                with temporary_defaults(TRAINING), _signals_held():  # read when a process starts
                    started = start_processes(
                        _work, arguments, processes, join=False, start_method="spawn"
                    )
                while started and not started.join():
                    pass
        except (KeyboardInterrupt, Terminated) as stop:
            if started:
                _stop(started, isinstance(stop, Terminated))
            raise
        except ProcessExitedException as error:
            if complaint.exists():
                raise InputError(complaint.read_text("utf-8")) from error
            if error.exit_code < 0:
                sys.exit(
                    f"a training process was killed (signal {-error.exit_code}); with --resume "
                    "the run goes on from its last checkpoint"
                )
            sys.exit(error.exit_code)


def _terminate(*_: Any) -> None:
    raise Terminated


def _stop(started: ProcessContext, terminated: bool) -> None:
    """Wait for the processes, which save what they have learnt. Ctrl+C has reached them too;
    SIGTERM may have."""
    if terminated:
        for process in started.processes:
            process.terminate()
    for process in started.processes:
        process.join(_GRACE)
        if process.is_alive() and process.pid:  # the signal was for this process alone
            os.kill(process.pid, signal.SIGINT)
            process.join(_GRACE)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Within it Ctrl+C and SIGTERM wait. A process that is started here holds them until `_work`
    hears them."""
    resource_tracker.ensure_running()  # starting it would let them through
    _hold_signals(True)
    try:
        yield
    finally:
        _hold_signals(False)


def _hold_signals(held: bool) -> None:
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        how = signal.SIG_BLOCK if held else signal.SIG_UNBLOCK
        signal.pthread_sigmask(how, [signal.SIGINT, signal.SIGTERM])


def in_launcher() -> bool:
    """Whether accelerate or torchrun started this process, and others that train with it."""
    return "RANK" in os.environ


def end_with_parent() -> None:
    """Let this process end when its parent ends, for whatever reason.

    torch only sends an interrupt, which a run in the background ignores.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=watch, daemon=True).start()


def _work(
    rank: int, packed: Path, complaint: Path, surroundings: dict[str, str], threads: int
) -> None:
    end_with_parent()
    os.environ |= surroundings | {"RANK": str(rank), "LOCAL_RANK": str(rank)}
    torch.set_num_threads(threads)
    prepare_streams()
    status = 0
    try:
        _hold_signals(False)
        with open(packed, "rb") as file:
            job = pickle.load(file)
        packed.with_name(f"loaded-{rank}").touch()
        if len(list(packed.parent.glob("loaded-*"))) == int(surroundings["WORLD_SIZE"]):
            packed.unlink(missing_ok=True)  # it is large, and a killed run would leave it behind
        gc.freeze()  # otherwise each garbage collection visits all texts: 4 % of the time
        job.run()
    except Terminated:
        status = 143
    except KeyboardInterrupt:
        status = 130
    except (InputError, OSError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        complaint.write_text(reason, encoding="utf-8")
        status = 2
    end_process(status)


def end_process(status: int) -> None:
    """End this process, one of several that train, with an exit code.

    Not `sys.exit`: a thread of gloo may still free a tensor, which needs the interpreter. An
    interpreter that is shutting down then crashes now and then. Destroying the process group does
    not end these threads.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
