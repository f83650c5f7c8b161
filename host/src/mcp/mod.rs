//! The Model Context Protocol's view of tools.

use serde_json::{Value, json};

use crate::tool::Tool;

/// A tool as `tools/list` gives it: JSON Schema 2020-12, with an object at the root of the output schema.
///
/// A result that is no object is wrapped as `{"result": …}`.
pub fn tool(tool: &Tool) -> Value {
    let mut listed = json!({
        "name": tool.name(),
        "description": tool.description(),
        "inputSchema": tool.input_schema(),
    });
    if let Some(schema) = tool.output_schema() {
        let is_object = schema.get("type").is_some_and(|name| name == "object");
        listed["outputSchema"] = if is_object {
            schema
        } else {
            json!({
                "type": "object",
                "properties": { "result": schema },
                "required": ["result"],
                "additionalProperties": false,
            })
        };
    }
    listed
}
