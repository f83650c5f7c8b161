"""CrewAI with the MCPServerAdapter of crewai-tools: python with_crewai.py COMMAND ARGS...

COMMAND starts the server, such as `witbox serve -c witbox.toml`. The model is OpenAI's, or that of OPENAI_BASE_URL.
"""

import os
import sys

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"}  # before the import

from crewai import LLM, Agent, Crew, Task
from crewai_tools import MCPServerAdapter
from mcp import StdioServerParameters

TASK = "Greet Ada, then greet nobody, then ask for a flood of 100000 lines, and tell me its lines 50000 to 50002."


def main(command: str, *args: str) -> None:
    # Agent(mcps=[...]) would start a server for every call and put the whole command in front of the tools' names.
    with MCPServerAdapter(StdioServerParameters(command=command, args=list(args))) as tools:
        print("tools:", *(tool.name for tool in tools))
        llm = LLM("openai/gpt-5-mini")
        greeter = Agent(role="greeter", goal="greet people", backstory="You like people.", llm=llm, tools=tools)
        task = Task(description=TASK, expected_output="what happened, in a line", agent=greeter)
        output = Crew(agents=[greeter], tasks=[task]).kickoff()
    print(output.raw)


if __name__ == "__main__":
    main(*sys.argv[1:])
