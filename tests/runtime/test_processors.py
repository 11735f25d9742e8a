"""The number of processors, and their 8-bit products, from the system's files."""

import os
import platform
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch

from fabir.runtime import onnx_model
from fabir.runtime import processors as module
from fabir.runtime.locate import BUNDLED
from fabir.runtime.onnx_model import OnnxModel
from fabir.runtime.processors import fast_bf16, is_amd, lacks_vnni, processors


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        ("max 100000\n", 8),
        ("100000 100000\n", 1),
        ("350000 100000\n", 4),
        ("20000 100000\n", 1),
        ("6400000 100000\n", 8),
        ("", 8),
        (None, 8),
    ],
)
def test_a_containers_share_of_the_processors(
    share: str | None, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cpu.max"
    if share is not None:
        file.write_text(share)
    monkeypatch.setattr(module, "SHARE", file)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert processors() == expected


def test_who_names_a_number_gets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    monkeypatch.setattr(module, "SHARE", tmp_path / "cpu.max")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert processors() == 3


@pytest.mark.parametrize(
    ("flags", "machine", "expected"),
    [
        ("fpu sse2 avx2", "x86_64", True),
        ("fpu avx2 avx512f avx512bw", "AMD64", True),
        ("fpu avx2 avx_vnni", "x86_64", False),
        ("fpu avx2 avx512_vnni amx_int8", "x86_64", False),
        ("fpu avx2 avx_vnni_int8x", "x86_64", True),
        ("", "x86_64", True),
        (None, "x86_64", True),
        (None, "AMD64", True),
        (None, "arm64", False),
        ("fp asimd", "aarch64", False),
    ],
)
def test_an_x86_processor_lacks_vnni_unless_its_flags_name_it(
    flags: str | None, machine: str, expected: bool, tmp_path: Path
) -> None:
    file = tmp_path / "cpuinfo"
    if flags is not None:
        file.write_text(f"model name\t: A processor\nflags\t\t: {flags}\nbugs\t\t: avx_vnni\n")
    assert lacks_vnni(file, machine) is expected


@pytest.mark.parametrize("lacking", [True, False])
def test_products_are_exact_without_vnni_and_fast_with_it(
    lacking: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[bool] = []

    class Session(onnxruntime.InferenceSession):
        def __init__(self, path: Path, options: Any, **named: Any) -> None:
            try:
                opened.append(options.get_session_config_entry("session.x64quantprecision") == "1")
            except RuntimeError:  # the entry is missing
                opened.append(False)
            super().__init__(path, options, **named)

    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    monkeypatch.setattr(onnx_model, "lacks_vnni", lambda: lacking)
    OnnxModel.load(BUNDLED)
    assert opened == [lacking] * 3


@pytest.mark.parametrize(
    ("text", "processor", "expected"),
    [
        ("vendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\n", "", True),
        ("vendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Processor\n", "", False),
        (None, "AMD64 Family 25 Model 97 Stepping 2, AuthenticAMD", True),
        (None, "Intel64 Family 6 Model 143 Stepping 8, GenuineIntel", False),
        (None, "arm", False),
    ],
)
def test_who_made_the_processor(
    text: str | None,
    processor: str,
    expected: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "processor", lambda: processor)
    if text is not None:
        (tmp_path / "cpuinfo").write_text(text)
    assert is_amd(tmp_path / "cpuinfo") is expected


@pytest.mark.parametrize(
    ("amx", "avx512", "amd", "expected"),
    [
        (False, False, True, False),
        (False, True, False, False),
        (False, True, True, True),
        (True, True, False, True),
    ],
)
def test_bfloat16_is_fast_with_amx_and_on_amds_processors(
    amx: bool, avx512: bool, amd: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512)
    monkeypatch.setattr(module, "is_amd", lambda: amd)
    assert fast_bf16(torch.device("cpu")) is expected
    assert not fast_bf16(torch.device("meta"))
