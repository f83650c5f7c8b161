"""OpenAI Agents SDK with MCPServerStdio: python with_openai_agents.py COMMAND ARGS...

COMMAND starts the server, such as `witbox serve -c witbox.toml`. The model is OpenAI's, or that of OPENAI_BASE_URL.
"""

import asyncio
import sys

from agents import Agent, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio

TASK = "Greet Ada, then greet nobody, then ask for a flood of 100000 lines, and tell me its lines 50000 to 50002."


async def main(command: str, *args: str) -> None:
    set_tracing_disabled(True)  # traces go to api.openai.com, whatever the base URL
    params = {"command": command, "args": list(args)}
    # The default time limit of a call is 5 seconds.
    async with MCPServerStdio(params, client_session_timeout_seconds=60) as witbox:
        print("tools:", *(tool.name for tool in await witbox.list_tools()))
        agent = Agent("greeter", model="gpt-5-mini", mcp_servers=[witbox])
        result = await Runner.run(agent, TASK)
    print(result.final_output)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
