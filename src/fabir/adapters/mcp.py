"""An MCP server (Model Context Protocol): assistants ask an index. It speaks on stdin and stdout.

The tools are those of `fabir.adapters.tools`.
"""

import signal
import sys
from pathlib import Path

from fabir import __version__
from fabir.adapters import needs
from fabir.answer.predictor import Predictor
from fabir.errors import InputError
from fabir.progress import counted
from fabir.search.asker import PASSAGES, Asker
from fabir.search.index import Index

with needs("mcp", "the MCP SDK 2", "anyio", "mcp", "mcp_types"):
    import anyio
    import mcp_types as types
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp.shared.exceptions import MCPError

    from fabir.adapters.tools import Tool, index_tools


def create_server(asker: Asker) -> Server:
    """A server with the tools of an index, for any transport."""
    tools = {tool.name: tool for tool in index_tools(asker)}

    async def list_tools(
        context: ServerRequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in tools.values()])

    async def call_tool(
        context: ServerRequestContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name not in tools:
            message = f"there is no tool {params.name}: there are {', '.join(tools)}"
            raise MCPError(types.INVALID_PARAMS, message)
        run, arguments = tools[params.name].run, params.arguments or {}
        try:
            result = await anyio.to_thread.run_sync(run, arguments)
        except InputError as error:
            text = types.TextContent(type="text", text=str(error))
            return types.CallToolResult(content=[text], is_error=True)
        text = types.TextContent(type="text", text=result.model_dump_json())
        return types.CallToolResult(content=[text], structured_content=result.model_dump())

    return Server("fabir", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)


def serve(
    folder: Path,
    reader: str | Path | None = None,
    passages: int | None = None,
    threshold: float | None = None,
) -> None:
    """Answer an MCP client on stdin and stdout until it closes stdin.

    Args:
        folder: of the index
        reader: see `Predictor.load`
        passages, threshold: see `Asker`

    Raises:
        InputError: the index or the reader does not exist, or a number is out of its range.
    """
    index = Index.open(folder)
    predictor = Predictor.load(reader, threshold=threshold)
    asker = Asker(index, predictor, passages=PASSAGES if passages is None else passages)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a read of stdin would hold up Ctrl+C
    about = f"{counted(index.documents, 'document')}, {counted(len(index), 'passage')}"
    print(f"{about}: waiting for an MCP client on standard input", file=sys.stderr)
    try:
        anyio.run(_serve, create_server(asker))
    except BaseExceptionGroup as group:
        found = _single(group)
        if isinstance(found, OSError):  # its output is closed, or its disk is full
            raise found from group
        raise


def _single(error: BaseException) -> BaseException:
    """The only exception of a group, else the group."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


async def _serve(server: Server) -> None:
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.arguments.model_json_schema(),
        output_schema=tool.result.model_json_schema(mode="serialization"),
        annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )
