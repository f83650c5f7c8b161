"""Check MCP tool definitions and results against the official Python SDK, offline.

usage: check_mcp.py FOLDER

FOLDER holds mcp.json and any number of mcp.result.*.json. A result named
mcp.result.TOOL.json or mcp.result.TOOL.CASE.json must also fit that tool's outputSchema.
"""

import json
import sys
from pathlib import Path

from jsonschema import SchemaError
from jsonschema import ValidationError as Mismatch
from jsonschema.validators import validator_for
from mcp import types
from mcp.shared.tool_name_validation import validate_tool_name
from mcp.types.methods import validate_server_result
from mcp.types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION
from pydantic import ValidationError
from referencing import Registry


class Bad(Exception):
    """What is wrong with a file, ready to print."""


def reason(error):
    if isinstance(error, Bad):
        return str(error)
    if isinstance(error, ValidationError):
        found = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        return "; ".join(found[:3]) + (f"; and {len(found) - 3} more" if len(found) > 3 else "")
    if isinstance(error, (SchemaError, Mismatch)):
        return f"{error.json_path}: {error.message}"
    return f"{type(error).__name__}: {error}"


def validated(model, method, value):
    """Parse, check for both generations of the protocol, and return what a peer would receive."""
    parsed = model.model_validate(value)
    # The model serves every version; only the per-version check knows what each allows.
    wire = parsed.model_dump(by_alias=True, exclude_none=True, mode="json")
    for version in (LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION):
        try:
            validate_server_result(method, version, wire)
        except ValidationError as error:
            raise Bad(f"not valid in protocol version {version}: {reason(error)}") from error
    return parsed.model_dump(by_alias=True, exclude_unset=True, mode="json")


def same(sent, got):
    changed = [key for key in sent | got if sent.get(key) != got.get(key)]
    if changed:
        raise Bad(f"lost or changed by the SDK: {', '.join(changed)}")


def compiled(schema):
    # The way the SDK's client session builds its validators.
    kind = validator_for(schema)
    kind.check_schema(schema)
    return kind(schema, registry=Registry())


def check_tool(tool):
    received = validated(types.ListToolsResult, "tools/list", {"tools": [tool]})
    same(tool, received["tools"][0])
    name = validate_tool_name(tool["name"])
    if not name.is_valid or name.warnings:
        raise Bad(f"tool name: {'; '.join(name.warnings)}")
    for key in ("inputSchema", "outputSchema"):
        if key in tool:
            try:
                compiled(tool[key])
            except SchemaError as error:
                raise Bad(f"{key} is not a valid JSON Schema: {reason(error)}") from error


def check_result(result, tool):
    same(result, validated(types.CallToolResult, "tools/call", result))
    if tool and "outputSchema" in tool and not result.get("isError"):
        if "structuredContent" not in result:
            raise Bad("structuredContent is missing although the tool has an outputSchema")
        compiled(tool["outputSchema"]).validate(result["structuredContent"])


def tool_of(path, tools):
    name = path.name.removeprefix("mcp.result.").removesuffix("json")
    named = [tool for tool in tools if name.startswith(tool["name"] + ".")]
    return max(named, key=lambda tool: len(tool["name"]), default=None)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    folder = Path(sys.argv[1])
    where = "mcp.json"
    try:
        tools = json.loads((folder / where).read_text(encoding="utf-8"))
        if not isinstance(tools, list) or not tools:
            raise Bad("expected a non-empty array")
        for number, tool in enumerate(tools, 1):
            where = f"mcp.json: tool {tool.get('name', number)!r}"
            check_tool(tool)
        where = "mcp.json"
        validated(types.ListToolsResult, "tools/list", {"tools": tools})
        results = sorted(folder.glob("mcp.result.*.json"))
        matched = 0
        for path in results:
            where = path.name
            tool = tool_of(path, tools)
            matched += tool is not None
            check_result(json.loads(path.read_text(encoding="utf-8")), tool)
    except Exception as error:
        sys.exit(f"FAIL mcp (Python): {where}: {reason(error)}")
    print(f"mcp (Python): {len(tools)} tools; {len(results)} results, {matched} matched to a tool")


if __name__ == "__main__":
    main()
