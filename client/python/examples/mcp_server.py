"""A server of the Model Context Protocol whose tools are those of a session.

python examples/mcp_server.py            a scripted host in this process
python examples/mcp_server.py --live .   a server on standard input and output, for this directory
"""

from __future__ import annotations

import asyncio
from typing import Any

import mcp
import scripted
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from toolfs import AsyncSession, AsyncToolfs


async def file_server(client: AsyncToolfs, session: AsyncSession) -> Server[Any]:
    """A server for one host: what it has read is what it may edit."""
    tools = types.ListToolsResult.model_validate(await client.tools("mcp"))

    async def list_tools(_context: Any, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return tools

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        # A refusal is a result with `isError`, never an error of the protocol: the model must read it.
        reply = await session.call(params.name, params.arguments or {})
        return types.CallToolResult.model_validate(reply.as_result("mcp"))

    return Server("toolfs", instructions=await client.prompt(), on_list_tools=list_tools, on_call_tool=call_tool)


async def scripted_host(server: Server[Any]) -> None:
    """A host that plays the script of the other examples."""
    script = scripted.Script()
    results: list[scripted.Result] = []
    async with mcp.Client(server) as host:
        while True:
            turn, _ids = script.next(results)
            if not turn.calls:
                print(turn.text)
                return
            answers = [await host.call_tool(name, arguments) for name, arguments in turn.calls]
            texts = ["".join(block.text for block in answer.content if block.type == "text") for answer in answers]
            marks = [answer.is_error for answer in answers]
            results = [scripted.Result(None, mark, text) for mark, text in zip(marks, texts, strict=True)]


async def main() -> None:
    with scripted.options(live="serve on standard input and output") as options:
        async with AsyncToolfs.local(root=options.root) as client, client.open_session() as session:
            server = await file_server(client, session)
            if not options.live:
                await scripted_host(server)
                return
            async with stdio_server() as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
