"""The echo tool as the official SDK for Python has it."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("echo")


@server.tool(structured_output=False)
def echo(text: str) -> str:
    """Says what it hears."""
    return text


server.run()
