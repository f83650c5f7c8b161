// Check MCP tool definitions and results against the official TypeScript SDK, offline.
//
// usage: node mcp.mjs FOLDER
//
// FOLDER holds mcp.json and any number of mcp.result.*.json. A result named
// mcp.result.TOOL.json or mcp.result.TOOL.CASE.json must also fit that tool's outputSchema.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CallToolResultSchema, ListToolsResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";

const folder = process.argv[2];
if (!folder || process.argv.length > 3) {
  console.error("usage: node mcp.mjs FOLDER");
  process.exit(1);
}

// One instance for all tools, as in the SDK's Client.
const ajv = new AjvJsonSchemaValidator();
const load = (name) => JSON.parse(readFileSync(join(folder, name), "utf8"));

function parsed(schema, value) {
  const { success, data, error } = schema.safeParse(value);
  if (!success) {
    throw new Error(error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; "));
  }
  return data;
}

function same(sent, got) {
  const keys = Object.keys({ ...sent, ...got });
  const equal = (key) => {
    try {
      assert.deepEqual(got[key], sent[key]);
      return true;
    } catch {
      return false;
    }
  };
  const changed = keys.filter((key) => !equal(key));
  if (changed.length) throw new Error(`lost or changed by the SDK: ${changed.join(", ")}`);
}

function compiled(tool, key) {
  try {
    return ajv.getValidator(tool[key]);
  } catch (error) {
    throw new Error(`${key} does not compile: ${error.message}`);
  }
}

function checkTool(tool) {
  same(tool, parsed(ListToolsResultSchema, { tools: [tool] }).tools[0]);
  compiled(tool, "inputSchema");
  if (tool.outputSchema) compiled(tool, "outputSchema");
}

function checkResult(result, tool) {
  same(result, parsed(CallToolResultSchema, result));
  if (!tool?.outputSchema || result.isError) return;
  if (!result.structuredContent) {
    throw new Error("structuredContent is missing although the tool has an outputSchema");
  }
  const { valid, errorMessage } = compiled(tool, "outputSchema")(result.structuredContent);
  if (!valid) throw new Error(`structuredContent does not fit the outputSchema: ${errorMessage}`);
}

function toolOf(file, tools) {
  const name = file.slice("mcp.result.".length, -"json".length);
  return tools
    .filter((tool) => name.startsWith(`${tool.name}.`))
    .sort((a, b) => b.name.length - a.name.length)[0];
}

let where = "mcp.json";
try {
  const tools = load(where);
  if (!Array.isArray(tools) || !tools.length) throw new Error("expected a non-empty array");
  for (const [index, tool] of tools.entries()) {
    where = `mcp.json: tool '${tool.name ?? index + 1}'`;
    checkTool(tool);
  }
  const results = readdirSync(folder)
    .filter((name) => /^mcp\.result\..*\.json$/.test(name))
    .sort();
  let matched = 0;
  for (const file of results) {
    where = file;
    const tool = toolOf(file, tools);
    if (tool) matched++;
    checkResult(load(file), tool);
  }
  console.log(
    `mcp (TypeScript): ${tools.length} tools; ${results.length} results, ${matched} matched to a tool`,
  );
} catch (error) {
  console.error(`FAIL mcp (TypeScript): ${where}: ${error.message}`);
  process.exit(1);
}
