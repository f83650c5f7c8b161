"""A local server of the OpenAI API whose answers are a script, for tests without a model.

It answers /v1/chat/completions and /v1/responses, whole or streamed, and keeps every request:

    with ScriptedModel([ToolCall("greet_hello", {"name": "Ada"}), "All done."]) as model:
        ...  # run an agent with OPENAI_BASE_URL=model.url and any OPENAI_API_KEY
    model.tools(), model.results()  # what a real model would have been shown

Turn N of the script answers a request that holds N tool results, so a repeated or an extra
request of a framework (a retry, a summary) does not put the script out of step.
Run by hand, it plays `SCRIPT` and prints its base URL.
"""

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class ToolCall:
    tool: str
    arguments: dict | Callable[[list[str]], dict]  # or what makes them of the tool results that the request holds


def page(shown: list[str]) -> dict:
    """Lines from the middle of the file that the newest result points to."""
    path = re.search(r"/results/[\w.-]+", shown[-1])
    return {"path": path[0] if path else "no path was shown", "offset": 50_000, "limit": 3}


SCRIPT = [
    ToolCall("greet_hello", {"name": "Ada"}),
    ToolCall("greet_hello", {"name": ""}),
    ToolCall("greet_flood", {"lines": 100_000}),
    ToolCall("results_read", page),
    "I greeted Ada, failed to greet nobody, and read on in the flood.",
]
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def tools(request: dict) -> list[str]:
    """The names of the tools offered to the model."""
    return [tool.get("function", tool).get("name", tool["type"]) for tool in request.get("tools") or []]


def results(request: dict) -> list[str]:
    """The tool results shown to the model, oldest first, as text; what is no text as JSON."""
    messages = [m["content"] for m in request.get("messages", []) if m["role"] == "tool"]
    items = [i for i in request.get("input", []) if isinstance(i, dict) and i.get("type") == "function_call_output"]
    contents = messages + [item["output"] for item in items]
    return [c if isinstance(c, str) else "\n".join(p.get("text") or json.dumps(p) for p in c) for c in contents]


class ScriptedModel:
    def __init__(self, script: list[ToolCall | str] = SCRIPT):
        self.script, self.requests = script, []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"model": self}))
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def tools(self) -> list[str]:
        return max((tools(request) for request in self.requests), key=len, default=[])

    def results(self) -> list[str]:
        return max((results(request) for request in self.requests), key=len, default=[])

    def turn(self, request: dict) -> ToolCall | str:
        """The answer to a request: a tool call under the name that the framework gave the tool, or text."""
        shown = results(request)
        turn = self.script[min(len(shown), len(self.script) - 1)]
        if isinstance(turn, str):
            return turn
        arguments = turn.arguments(shown) if callable(turn.arguments) else turn.arguments
        for name in tools(request):
            if name.endswith(turn.tool):
                return ToolCall(name, arguments)
        return f"There is no tool {turn.tool}."


class Handler(BaseHTTPRequestHandler):
    model: ScriptedModel
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.model.requests.append(request)
        turn, number = self.model.turn(request), len(self.model.requests)
        if self.path.endswith("/chat/completions"):
            whole, events = chat(request, turn, number)
        elif self.path.endswith("/responses"):
            whole, events = response(request, turn, number)
        else:
            return self.send_error(404)
        if request.get("stream"):
            self.reply("text/event-stream", "".join(events))
        else:
            self.reply("application/json", json.dumps(whole))

    def reply(self, content_type: str, body: str):
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


def chat(request: dict, turn: ToolCall | str, number: int):
    """The chat completion, whole and as server-sent events."""
    message = {"role": "assistant", "content": turn if isinstance(turn, str) else None}
    if isinstance(turn, ToolCall):
        function = {"name": turn.tool, "arguments": json.dumps(turn.arguments)}
        message["tool_calls"] = [{"index": 0, "id": f"call_{number}", "type": "function", "function": function}]
    finish = "stop" if isinstance(turn, str) else "tool_calls"
    base = {"id": f"chatcmpl-{number}", "created": 0, "model": request["model"]}

    def chunk(choices: list, **more) -> str:
        return f"data: {json.dumps(base | {'object': 'chat.completion.chunk', 'choices': choices} | more)}\n\n"

    events = [
        chunk([{"index": 0, "delta": message, "finish_reason": None}]),
        chunk([{"index": 0, "delta": {}, "finish_reason": finish}]),
        chunk([], usage=USAGE),
        "data: [DONE]\n\n",
    ]
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return base | {"object": "chat.completion", "choices": [choice], "usage": USAGE}, events


def response(request: dict, turn: ToolCall | str, number: int):
    """The response of the Responses API, whole and as server-sent events."""
    if isinstance(turn, str):
        part = {"type": "output_text", "text": turn, "annotations": []}
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [part]}
    else:
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "status": "completed"}
        item |= {"name": turn.tool, "arguments": json.dumps(turn.arguments)}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 0,
        "model": request["model"],
        "status": "completed",
        "output": [item],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2} | details,
    }
    steps = [
        {"type": "response.created", "response": whole | {"status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]
    events = [f"event: {s['type']}\ndata: {json.dumps(s | {'sequence_number': n})}\n\n" for n, s in enumerate(steps)]
    return whole, events


if __name__ == "__main__":
    with ScriptedModel() as model:
        print(f"export OPENAI_API_KEY=none OPENAI_BASE_URL={model.url}", flush=True)
        threading.Event().wait()
