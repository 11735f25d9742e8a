"""Calls the command line in this process, as a user would. No tests here."""

import pytest

from fabir.cli import main

PASSAGE = "Gravity pulls the drops down, so rain falls from the clouds to the ground. ☔ Ende.\r\n"


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a command that must fail as the user's mistake; returns its one line."""
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert stopped.value.code == 2
    assert out == ""
    # A slow machine shows progress before.
    assert [line for line in err.splitlines() if line.startswith("fabir")] == err.splitlines()[-1:]
    assert "Traceback" not in err
    return err


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    main([str(argument) for argument in arguments])
    return capsys.readouterr().out


def stopped(
    capsys: pytest.CaptureFixture[str], place: tuple[object, str], *arguments: object
) -> str:
    """What a command writes to stderr that the user stops when it calls the function `place`."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*place, stop)
        with pytest.raises(SystemExit, match="130"):
            main([str(argument) for argument in arguments])
    return capsys.readouterr().err
