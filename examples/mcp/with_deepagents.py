"""Deep Agents with langchain-mcp-adapters: python with_deepagents.py COMMAND ARGS...

COMMAND starts the server, such as `witbox serve -c witbox.toml`. The model is OpenAI's, or that of OPENAI_BASE_URL.
"""

import asyncio
import sys

from deepagents import create_deep_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

TASK = "Greet Ada, then greet nobody, then ask for a flood of 100000 lines, and tell me its lines 50000 to 50002."


async def main(command: str, *args: str) -> None:
    client = MultiServerMCPClient({"witbox": {"transport": "stdio", "command": command, "args": list(args)}})
    # One session for the whole run: client.get_tools() would start a server for every call.
    async with client.session("witbox") as session:
        tools = await load_mcp_tools(session)
        print("tools:", *(tool.name for tool in tools))
        agent = create_deep_agent(model="openai:gpt-5-mini", tools=tools)
        state = await agent.ainvoke({"messages": [{"role": "user", "content": TASK}]})
    print(state["messages"][-1].text)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
