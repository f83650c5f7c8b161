"""Plain MCP clients, no model: python clients.py mcp|mcp1|fastmcp|langchain COMMAND ARGS...

COMMAND starts the server, such as `witbox serve -c witbox.toml`. Each client lists the tools, makes a call that
succeeds, one that fails and one whose result is too big, and reads a part of the file that this was moved into.
"""

import asyncio
import re
import sys

# The address of the file is in the result's _meta; a range of bytes of it is a resource of its own.
EVICTED, RANGE = "witbox/evicted", "?offset=1188870&limit=24"  # line 50000


def show(what: str, text: str) -> None:
    print(f"{what}: {' | '.join(text.splitlines())}")


async def mcp(command: str, *args: str) -> None:
    """The MCP SDK, 2.x: speaks 2026-07-28, or the handshake with an older server."""
    from mcp import Client, StdioServerParameters

    async with Client(StdioServerParameters(command=command, args=list(args))) as client:
        show("protocol", client.protocol_version)
        show("lists", " ".join(tool.name for tool in (await client.list_tools()).tools))
        show("succeeds", (await client.call_tool("greet_hello", {"name": "Ada"})).content[0].text)
        failed = await client.call_tool("greet_hello", {"name": ""})
        show("fails", f"is_error={failed.is_error} {failed.content[0].text}")
        flood = await client.call_tool("greet_flood", {"lines": 100_000})
        show("evicts", flood.content[0].text)
        part = await client.read_resource(flood.meta[EVICTED][0]["uri"] + RANGE)
        show("pages", part.contents[0].text)


async def mcp1(command: str, *args: str) -> None:
    """The MCP SDK, 1.x."""
    from mcp import ClientSession, StdioServerParameters, stdio_client

    async with (
        stdio_client(StdioServerParameters(command=command, args=list(args))) as (read, write),
        ClientSession(read, write) as session,
    ):
        show("protocol", (await session.initialize()).protocolVersion)
        show("lists", " ".join(tool.name for tool in (await session.list_tools()).tools))
        show("succeeds", (await session.call_tool("greet_hello", {"name": "Ada"})).content[0].text)
        failed = await session.call_tool("greet_hello", {"name": ""})
        show("fails", f"isError={failed.isError} {failed.content[0].text}")
        flood = await session.call_tool("greet_flood", {"lines": 100_000})
        show("evicts", flood.content[0].text)
        part = await session.read_resource(flood.meta[EVICTED][0]["uri"] + RANGE)
        show("pages", part.contents[0].text)


async def fastmcp(command: str, *args: str) -> None:
    """FastMCP's client."""
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport
    from fastmcp.exceptions import ToolError

    async with Client(StdioTransport(command, list(args))) as client:
        show("lists", " ".join(tool.name for tool in await client.list_tools()))
        show("succeeds", (await client.call_tool("greet_hello", {"name": "Ada"})).content[0].text)
        try:
            await client.call_tool("greet_hello", {"name": ""})
        except ToolError as error:  # with raise_on_error=False: a result with is_error
            show("fails", f"ToolError {error}")
        flood = await client.call_tool("greet_flood", {"lines": 100_000})
        show("evicts", flood.content[0].text)
        part = await client.read_resource(flood.meta[EVICTED][0]["uri"] + RANGE)
        show("pages", part[0].text)


async def langchain(command: str, *args: str) -> None:
    """The tools and resources of langchain-mcp-adapters."""
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.resources import load_mcp_resources
    from langchain_mcp_adapters.tools import load_mcp_tools

    client = MultiServerMCPClient({"witbox": {"transport": "stdio", "command": command, "args": list(args)}})
    async with client.session("witbox") as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}
        show("lists", " ".join(tools))
        show("succeeds", (await tools["greet_hello"].ainvoke({"name": "Ada"}))[0]["text"])
        call = {"type": "tool_call", "id": "1", "name": "greet_hello", "args": {"name": ""}}
        failed = await tools["greet_hello"].ainvoke(call)
        show("fails", f"status={failed.status} {failed.text}")
        [pointer] = await tools["greet_flood"].ainvoke({"lines": 100_000})
        show("evicts", pointer["text"])
        # It drops the _meta, so that the address is made of the path.
        uri = "witbox:" + re.search(r"/results/[\w.-]+", pointer["text"])[0]
        [part] = await load_mcp_resources(session, uris=uri + RANGE)
        show("pages", part.as_string())


if __name__ == "__main__":
    asyncio.run({"mcp": mcp, "mcp1": mcp1, "fastmcp": fastmcp, "langchain": langchain}[sys.argv[1]](*sys.argv[2:]))
