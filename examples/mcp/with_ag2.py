"""AG2 with its MCPToolkit: python with_ag2.py COMMAND ARGS...

COMMAND starts the server, such as `witbox serve -c witbox.toml`. The model is OpenAI's, or that of OPENAI_BASE_URL.
"""

import asyncio
import sys

from ag2 import Agent, MemoryStream
from ag2.config import OpenAIConfig
from ag2.context import ConversationContext
from ag2.tools import MCPStdioServerConfig, MCPToolkit

TASK = "Greet Ada, then greet nobody, then ask for a flood of 100000 lines, and tell me its lines 50000 to 50002."


async def main(command: str, *args: str) -> None:
    # A new server process is started to list the tools and for every call.
    witbox = MCPToolkit(MCPStdioServerConfig(command=command, args=list(args)))
    schemas = await witbox.schemas(ConversationContext(MemoryStream()))
    print("tools:", *(schema.function.name for schema in schemas))
    agent = Agent("greeter", config=OpenAIConfig("gpt-5-mini"), tools=[witbox])
    reply = await agent.ask(TASK)
    print(await reply.content())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
