"""LangChain with its own MCPAdapter (beta): python with_langchain.py COMMAND ARGS...

COMMAND starts the server, such as `witbox serve -c witbox.toml`. The model is OpenAI's, or that of OPENAI_BASE_URL.
"""

import asyncio
import sys

from fastmcp.client.transports import StdioTransport
from langchain.agents import create_agent
from langchain.mcp import MCPAdapter

TASK = "Greet Ada, then greet nobody, then ask for a flood of 100000 lines, and tell me its lines 50000 to 50002."


async def main(command: str, *args: str) -> None:
    async with MCPAdapter(StdioTransport(command, list(args))) as adapter:
        tools = await adapter.list_tools()
        print("tools:", *(tool.name for tool in tools))
        agent = create_agent("openai:gpt-5-mini", tools)
        state = await agent.ainvoke({"messages": [{"role": "user", "content": TASK}]})
    print(state["messages"][-1].text)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
