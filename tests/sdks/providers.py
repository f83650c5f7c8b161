"""Check tool definitions and tool results against the official Python SDKs, offline.

usage: providers.py FOLDER [PROVIDER...]
"""

import json
import re
import sys
from collections.abc import Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Optional

import httpx2
from pydantic import ConfigDict, TypeAdapter, ValidationError


class Bad(Exception):
    """What is wrong with a file, ready to print."""


def offline(event, _):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise RuntimeError("an SDK tried to reach the network")


sys.addaudithook(offline)


def reason(error):
    if isinstance(error, ValidationError):
        found = [f"{'.'.join(map(str, e['loc'])) or 'value'}: {e['msg']}" for e in error.errors()]
        return "; ".join(found[:3]) + (f"; and {len(found) - 3} more" if len(found) > 3 else "")
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


@contextmanager
def blame(*where):
    """Prefix whatever goes wrong inside with the place it concerns."""
    try:
        yield
    except Exception as error:
        text = str(error) if isinstance(error, Bad) else reason(error)
        raise Bad(": ".join([*where, text])) from error


def each(file, items, name_of=None):
    """Yield every item with a context that blames what goes wrong on its name or number."""
    if not isinstance(items, list) or not items:
        raise Bad(f"{file}: expected a non-empty array")
    for number, item in enumerate(items, 1):
        name = f"item {number}"
        if name_of:
            with blame(file, name):
                name = f"tool {name_of(item)!r}"
        yield blame(file, name), item


def load(path):
    if not path.exists():
        raise Bad(f"{path.name}: missing")
    with blame(path.name):
        return json.loads(path.read_text(encoding="utf-8"))


def provider_of(path):
    return path.name.split(".")[0].removesuffix("-strict")


def answers(folder, provider):
    paths = sorted(folder.glob("*.answer.json"))
    return [(path.name, load(path)) for path in paths if provider_of(path) == provider]


def answer_messages(folder, provider, key):
    """Yield the name, the message and the parts of every answer that is one user message."""
    for name, message in answers(folder, provider):
        if not isinstance(message, dict) or message.get("role") != "user":
            raise Bad(f"{name}: expected a message of the role user")
        yield name, message, message.get(key)


def difference(sent, got, at=""):
    """Describe the first place where two JSON values differ; None when they do not."""
    if isinstance(sent, dict) and isinstance(got, dict):
        for key in sent | got:
            if key not in got:
                return f"{at}/{key} is dropped by the SDK"
            if key not in sent:
                return f"{at}/{key} is added by the SDK"
            if found := difference(sent[key], got[key], f"{at}/{key}"):
                return found
    elif isinstance(sent, list) and isinstance(got, list) and len(sent) == len(got):
        for index, pair in enumerate(zip(sent, got)):
            if found := difference(*pair, f"{at}/{index}"):
                return found
    # Python holds True equal to 1, JSON does not.
    elif sent != got or isinstance(sent, bool) != isinstance(got, bool):
        return f"{at or '/'}: the SDK turns {json.dumps(sent)} into {json.dumps(got)}"
    return None


def same(sent, got):
    if found := difference(sent, got):
        raise Bad(found)


def exhaust(value):
    if isinstance(value, dict):
        for key, item in value.items():
            with blame(key):
                exhaust(item)
    elif isinstance(value, Iterable) and not isinstance(value, str):
        for item in value:
            exhaust(item)


def typed(kind):
    """Return a strict validator for a TypedDict of an SDK: no unknown keys, no coercion."""
    # pydantic refuses a config for a bare TypedDict, but hands down that of what wraps it.
    adapter = TypeAdapter(Optional[kind], config=ConfigDict(extra="forbid", strict=True))
    # pydantic checks the items of an `Iterable` only when they are read.
    return lambda value: exhaust(adapter.validate_python(value))


def recorder():
    """Return an HTTP client that answers {} to everything, and the list of bodies it was sent."""
    bodies = []

    def reply(request):
        bodies.append(json.loads(request.content))
        return httpx2.Response(200, json={})

    return httpx2.Client(transport=httpx2.MockTransport(reply)), bodies


def summary(tools, results):
    counts = ", ".join(f"{file} {note}" for file, note in tools.items())
    return f"{counts}; {results} answer files"


def in_property_order(schema):
    """Sort every `required` like `properties`: its order means nothing, yet the helper sets it."""
    if isinstance(schema, list):
        return [in_property_order(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: in_property_order(value) for key, value in schema.items()}
    properties, required = copy.get("properties"), copy.get("required")
    if isinstance(properties, dict) and isinstance(required, list):
        known = [name for name in properties if name in required]
        copy["required"] = known + [name for name in required if name not in properties]
    return copy


def check_strict(parameters):
    from openai.lib._pydantic import _ensure_strict_json_schema

    parameters = in_property_order(parameters)
    # The helper changes its argument in place.
    changed = json.loads(json.dumps(parameters))
    with blame("not in the SDK's strict form"):
        same(parameters, _ensure_strict_json_schema(changed, path=(), root=changed))


def check_openai_api(folder, provider, check_tool, check_answer, function_of, send):
    counts = {}
    for file in (f"{provider}.json", f"{provider}-strict.json"):
        tools = load(folder / file)
        strict = 0
        for here, tool in each(file, tools, lambda tool: function_of(tool)["name"]):
            with here:
                check_tool(tool)
                same([tool], send([tool], [])[0])
                if function_of(tool).get("strict"):
                    strict += 1
                    check_strict(function_of(tool)["parameters"])
        with blame(file):
            same(tools, send(tools, [])[0])
        counts[file] = f"{len(tools)} tools ({strict} strict)"

    results = answers(folder, provider)
    for file, items in results:
        for here, item in each(file, items):
            with here:
                check_answer(item)
        with blame(file):
            same(items, send(tools, items)[1])
    return summary(counts, len(results))


def check_openai(folder):
    import openai
    from openai.types.chat import ChatCompletionToolMessageParam, ChatCompletionToolParam

    http, bodies = recorder()
    client = openai.OpenAI(api_key="none", http_client=http)

    def send(tools, results):
        messages = [{"role": "user", "content": "hi"}, *results]
        client.chat.completions.create(model="none", messages=messages, tools=tools)
        body = bodies.pop()
        return body["tools"], body["messages"][1:]

    return check_openai_api(
        folder,
        "openai",
        typed(ChatCompletionToolParam),
        typed(ChatCompletionToolMessageParam),
        lambda tool: tool["function"],
        send,
    )


def check_openai_responses(folder):
    import openai
    from openai.types.responses import FunctionToolParam
    from openai.types.responses.response_input_item_param import FunctionCallOutput

    http, bodies = recorder()
    client = openai.OpenAI(api_key="none", http_client=http)
    typed_output = typed(FunctionCallOutput)

    def check_answer(item):
        typed_output(item)
        # Optional in the SDK's type, but nothing else ties an output to its call.
        if not item.get("call_id"):
            raise Bad("call_id is missing")

    def send(tools, results):
        history = [{"role": "user", "content": "hi"}, *results]
        client.responses.create(model="none", input=history, tools=tools)
        body = bodies.pop()
        return body["tools"], body["input"][1:]

    return check_openai_api(
        folder,
        "openai-responses",
        typed(FunctionToolParam),
        check_answer,
        lambda tool: tool,
        send,
    )


def check_anthropic(folder):
    import anthropic
    from anthropic.types import MessageParam, ToolParam, ToolResultBlockParam
    from anthropic.types.tool_param import InputSchemaTyped

    http, bodies = recorder()
    client = anthropic.Anthropic(api_key="none", http_client=http)
    check_tool, check_schema = typed(ToolParam), typed(InputSchemaTyped)
    check_message, check_block = typed(MessageParam), typed(ToolResultBlockParam)

    def send(tools, *results):
        messages = [{"role": "user", "content": "hi"}, *results]
        client.messages.create(model="none", max_tokens=1, messages=messages, tools=tools)
        body = bodies.pop()
        return body["tools"], body["messages"][1:]

    file = "anthropic.json"
    tools = load(folder / file)
    for here, tool in each(file, tools, lambda tool: tool["name"]):
        with here:
            check_tool(tool)
            # ToolParam lets any object through; this is the type it means.
            with blame("input_schema"):
                check_schema(tool["input_schema"])
            same([tool], send([tool])[0])
    with blame(file):
        same(tools, send(tools)[0])

    count = 0
    for count, (name, message, blocks) in enumerate(answer_messages(folder, "anthropic", "content"), 1):
        for here, block in each(name, blocks):
            with here:
                check_block(block)
        with blame(name):
            check_message({**message, "content": "checked above"})
            same([message], send(tools, message)[1])
    return summary({file: f"{len(tools)} tools"}, count)


def fold_types(value):
    """Upper-case every `type`: google-genai spells STRING what was given as string."""
    if isinstance(value, list):
        return [fold_types(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: item.upper() if key == "type" and isinstance(item, str) else fold_types(item)
        for key, item in value.items()
    }


def check_types(known, schema, at="parameters"):
    """Say where a type is wrong: google-genai only warns of it, or crashes on a list of types."""
    if not isinstance(schema, dict):
        return
    kind = schema.get("type", "object")
    if not isinstance(kind, str) or kind.upper() not in known:
        raise Bad(f"{at}.type: {json.dumps(kind)} is not a type")
    check_types(known, schema.get("items"), f"{at}.items")
    for index, child in enumerate(schema.get("anyOf", [])):
        check_types(known, child, f"{at}.anyOf.{index}")
    for name, child in schema.get("properties", {}).items():
        check_types(known, child, f"{at}.properties.{name}")


def check_gemini(folder):
    from google import genai
    from google.genai import types

    http, bodies = recorder()
    options = types.HttpOptions(httpx_client=http)
    clients = {
        "Gemini API": genai.Client(api_key="none", vertexai=False, http_options=options),
        "Vertex": genai.Client(api_key="none", vertexai=True, http_options=options),
    }

    def dump(model, value):
        # The wire mixes any_of with anyOf (both are read); the aliases make it comparable.
        dumped = model.model_validate(value).model_dump(by_alias=True, exclude_none=True, mode="json")
        return fold_types(dumped)

    def check_request(tools, *results):
        for api, client in clients.items():
            contents = [{"role": "user", "parts": [{"text": "hi"}]}, *results]
            client.models.generate_content(model="none", contents=contents, config={"tools": tools})
            body = bodies.pop()
            with blame(api):
                # The SDK merges all declarations into one tool.
                merged = [{"functionDeclarations": [d for t in tools for d in t["functionDeclarations"]]}]
                same(fold_types(merged), [dump(types.Tool, tool) for tool in body["tools"]])
                arrived = [dump(types.Content, content) for content in body["contents"][1:]]
                same(fold_types(list(results)), arrived)

    file = "gemini.json"
    tools = load(folder / file)
    with blame(file):
        declarations = [d for tool in tools for d in tool["functionDeclarations"]]
    for here, declaration in each(file, declarations, lambda d: d["name"]):
        with here:
            check_types(types.Type.__members__, declaration.get("parameters"))
            types.FunctionDeclaration.model_validate(declaration)
            check_request([{"functionDeclarations": [declaration]}])
    with blame(file):
        for tool in tools:
            types.Tool.model_validate(tool)
        check_request(tools)

    count = 0
    for count, (name, message, parts) in enumerate(answer_messages(folder, "gemini", "parts"), 1):
        for here, part in each(name, parts):
            with here:
                types.Part.model_validate(part)
                # Optional in the SDK's model, required by the API.
                for key in ("name", "response"):
                    if key not in part["functionResponse"]:
                        raise Bad(f"functionResponse.{key} is missing")
        with blame(name):
            types.Content.model_validate(message)
            check_request(tools, message)
    return summary({file: f"{len(declarations)} tools"}, count)


def check_limits(shape, value, at=""):
    """Check what botocore's model states but its validator skips: max, pattern and enum."""
    if shape.type_name == "structure" and not shape.is_document_type:
        for key, item in value.items():
            check_limits(shape.members[key], item, f"{at}.{key}".lstrip("."))
    elif shape.type_name == "list":
        for index, item in enumerate(value):
            check_limits(shape.member, item, f"{at}[{index}]")
    elif shape.type_name == "string":
        limit, pattern = shape.metadata.get("max"), shape.metadata.get("pattern")
        if limit is not None and len(value) > limit:
            raise Bad(f"{at}: {len(value)} characters, at most {limit} allowed")
        if pattern and not re.fullmatch(pattern, value):
            raise Bad(f"{at}: {value!r} does not match {pattern}")
        if shape.enum and value not in shape.enum:
            raise Bad(f"{at}: {value!r} is none of {', '.join(shape.enum)}")


def check_bedrock(folder):
    import io

    import boto3
    import urllib3
    from botocore.awsrequest import AWSResponse
    from botocore.validate import validate_parameters

    bodies = []

    def reply(request, **_):
        bodies.append(json.loads(request.body))
        raw = urllib3.HTTPResponse(io.BytesIO(b"{}"), preload_content=False)
        return AWSResponse(request.url, 200, {}, raw)

    client = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        aws_access_key_id="none",
        aws_secret_access_key="none",
    )
    client.meta.events.register("before-send.bedrock-runtime.Converse", reply)

    def check_shape(name, value):
        shape = client.meta.service_model.shape_for(name)
        validate_parameters(value, shape)
        check_limits(shape, value)

    def send(config, *results):
        messages = [{"role": "user", "content": [{"text": "hi"}]}, *results]
        client.converse(modelId="none", messages=messages, toolConfig=config)
        body = bodies.pop()
        return body["toolConfig"], body["messages"][1:]

    file = "bedrock.json"
    config = load(folder / file)
    for here, tool in each(file, config.get("tools"), lambda tool: tool["toolSpec"]["name"]):
        with here:
            check_shape("Tool", tool)
            same({"tools": [tool]}, send({"tools": [tool]})[0])
    with blame(file):
        check_shape("ToolConfiguration", config)
        same(config, send(config)[0])

    count = 0
    for count, (name, message, blocks) in enumerate(answer_messages(folder, "bedrock", "content"), 1):
        for here, block in each(name, blocks):
            with here:
                check_shape("ToolResultBlock", block["toolResult"])
        with blame(name):
            check_shape("Message", message)
            same([message], send(config, message)[1])
    return summary({file: f"{len(config['tools'])} tools"}, count)


# Each check imports its own SDK, so that one provider can be checked alone and fast.
CHECKS = {
    "openai": check_openai,
    "openai-responses": check_openai_responses,
    "anthropic": check_anthropic,
    "gemini": check_gemini,
    "bedrock": check_bedrock,
}


def main():
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(CHECKS):
        sys.exit(f"{__doc__.strip()}\nproviders: {', '.join(CHECKS)}")
    folder = Path(sys.argv[1])
    try:
        for path in sorted(folder.glob("*.answer.json")):
            if provider_of(path) not in CHECKS:
                raise Bad(f"{path.name}: its name starts with no known provider")
        for provider in sys.argv[2:] or CHECKS:
            with blame(provider):
                print(f"{provider}: {CHECKS[provider](folder)}", flush=True)
    except Bad as error:
        sys.exit(f"FAIL {error}")


if __name__ == "__main__":
    main()
