"""Pydantic AI with its MCPToolset: python with_pydantic_ai.py COMMAND ARGS...

COMMAND starts the server, such as `witbox serve -c witbox.toml`. The model is OpenAI's, or that of OPENAI_BASE_URL.
"""

import asyncio
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset

TASK = "Greet Ada, then greet nobody, then ask for a flood of 100000 lines, and tell me its lines 50000 to 50002."


async def main(command: str, *args: str) -> None:
    # The default, "retry", ends the run when a tool fails twice in a row.
    witbox = MCPToolset(StdioTransport(command, list(args)), tool_error_behavior="failed")
    agent = Agent("openai:gpt-5-mini", toolsets=[witbox])
    async with agent:
        print("tools:", *(tool.name for tool in await witbox.list_tools()))
        result = await agent.run(TASK)
    print(result.output)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
