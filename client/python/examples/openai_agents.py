"""An agent of OpenAI's agents SDK, whose file tools are those of a session.

python examples/openai_agents.py            a scripted model, no network
python examples/openai_agents.py --live .   the real service, in this directory
"""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import scripted
from agents import Agent, FunctionTool, OpenAIResponsesModel, Runner, set_tracing_disabled
from agents.tool_context import ToolContext
from openai import AsyncOpenAI

from toolfs import AsyncSession, AsyncToolfs


async def file_tools(client: AsyncToolfs, session: AsyncSession) -> list[FunctionTool]:
    """The session's tools, as the SDK takes them."""
    # The SDK starts the calls of one answer all at once. The lock keeps their order: an edit may count on the read
    # before it.
    order = asyncio.Lock()

    def tool(definition: Any) -> FunctionTool:
        async def invoke(context: ToolContext[Any], arguments: str) -> str:
            async with order:
                # A refusal is text for the model too: it says what is wrong and what to do next.
                return (await session.call(context.tool_name, arguments, tool_call_id=context.tool_call_id)).text

        return FunctionTool(
            name=definition["name"],
            description=definition["description"],
            params_json_schema=definition["parameters"],
            strict_json_schema=definition["strict"],
            on_invoke_tool=invoke,
        )

    return [tool(definition) for definition in await client.tools("openai", strict=True)]


async def run(model: AsyncOpenAI, client: AsyncToolfs, task: str) -> str:
    async with client.open_session() as session:
        agent = Agent(
            name="editor",
            instructions=await client.prompt(),
            tools=[*await file_tools(client, session)],
            model=OpenAIResponsesModel(model="gpt-6.2-sol", openai_client=model),
        )
        return str((await Runner.run(agent, task)).final_output)


async def main() -> None:
    with scripted.options() as options:
        offline = httpx2.AsyncClient(transport=scripted.transport(scripted.openai_responses_answer))
        model = AsyncOpenAI() if options.live else AsyncOpenAI(api_key="none", http_client=offline)
        set_tracing_disabled(not options.live)
        async with AsyncToolfs.local(root=options.root) as client:
            print(await run(model, client, scripted.TASK))


if __name__ == "__main__":
    asyncio.run(main())
