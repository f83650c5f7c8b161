"""Strands Agents with its MCPClient: python with_strands.py COMMAND ARGS...

COMMAND starts the server, such as `witbox serve -c witbox.toml`. The model is OpenAI's, or that of OPENAI_BASE_URL.
"""

import sys

from mcp import StdioServerParameters, stdio_client
from strands import Agent
from strands.models.openai import OpenAIModel
from strands.tools.mcp import MCPClient

TASK = "Greet Ada, then greet nobody, then ask for a flood of 100000 lines, and tell me its lines 50000 to 50002."


def main(command: str, *args: str) -> None:
    server = StdioServerParameters(command=command, args=list(args))
    with MCPClient(lambda: stdio_client(server)) as witbox:
        tools = witbox.list_tools_sync()
        print("tools:", *(tool.tool_name for tool in tools))
        agent = Agent(model=OpenAIModel(model_id="gpt-5-mini"), tools=tools, callback_handler=None)
        result = agent(TASK)
    print(result)


if __name__ == "__main__":
    main(*sys.argv[1:])
