"""The MCP server, asked by the client of the MCP SDK."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fabir.search.asker import Asker

pytest.importorskip("mcp_types", reason="the MCP SDK 2 is missing: pip install 'fabir[mcp]'")

from mcp import Client, StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from fabir.adapters.mcp import create_server
from fabir.adapters.tools import index_tools

COMMAND = [sys.executable, "-m", "fabir", "mcp", "--index", "my-index"]
WAITING = "1 document, 2 passages: waiting for an MCP client on standard input\n"


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    """With the present protocol, and that of older clients."""
    return request.param


def call(asker: Asker, mode: str, name: str, arguments: dict[str, Any]) -> Any:
    async def session() -> Any:
        async with Client(create_server(asker), mode=mode) as client:
            return await client.call_tool(name, arguments)

    return asyncio.run(session())


def test_the_tools_are_described_from_one_place(asker: Asker, mode: str) -> None:
    async def session() -> Any:
        async with Client(create_server(asker), mode=mode) as client:
            return (await client.list_tools()).tools

    for described, tool in zip(asyncio.run(session()), index_tools(asker), strict=True):
        assert described.name == tool.name
        assert described.description == tool.description
        assert described.input_schema == tool.arguments.model_json_schema()
        assert described.annotations.read_only_hint


def test_a_result_is_structured_and_text(asker: Asker, mode: str) -> None:
    result = call(asker, mode, "ask", {"question": "Who built the mill?"})
    assert not result.is_error
    (answer,) = result.structured_content["answers"]
    assert (answer["text"], answer["document"], answer["line"]) == ("Otto Berg", "mill.md", 3)
    (ask, _) = index_tools(asker)
    assert ask.result.model_validate_json(result.content[0].text).model_dump() == (
        result.structured_content
    )


def test_wrong_arguments_are_told_to_the_model(asker: Asker, mode: str) -> None:
    result = call(asker, mode, "ask", {"question": "Who?", "top_k": 0})
    assert result.is_error
    assert result.content[0].text.startswith("ask: top_k: Input should be greater than")


def test_an_unknown_tool_is_an_error_of_the_protocol(asker: Asker, mode: str) -> None:
    async def session() -> None:
        async with Client(create_server(asker), mode=mode) as client:
            with pytest.raises(MCPError, match="there is no tool sum: there are ask, search"):
                await client.call_tool("sum", {})

    asyncio.run(session())


def test_an_assistant_asks_a_process_of_its_own(folder: Path) -> None:
    command, *arguments = COMMAND
    started = StdioServerParameters(command=command, args=arguments, cwd=folder)

    async def session() -> Any:
        async with Client(stdio_client(started)) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["ask", "search"]
            return await client.call_tool("search", {"query": "guided tour", "top_k": 1})

    (passage,) = asyncio.run(session()).structured_content["passages"]
    assert (passage["document"], passage["heading"]) == ("mill.md", "Visitors")


def test_the_server_ends_with_its_input(folder: Path) -> None:
    done = subprocess.run(COMMAND, cwd=folder, input="", capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", WAITING)


def test_an_interrupt_ends_the_server(folder: Path) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(COMMAND, cwd=folder, stdin=pipe, stderr=pipe, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == WAITING
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT
