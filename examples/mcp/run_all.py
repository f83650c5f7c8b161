"""Run the examples against an MCP server, with a scripted model:

python3 run_all.py [--only A,B] [--install] [--venvs DIR] -- COMMAND ARGS...

Prints a Markdown table of what each was shown, and exits with 1 when one of them failed, with the reasons on stderr.
An example runs in the virtual environment of its requirements-NAME.txt, DIR/NAME, which --install makes.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from scripted_model import SCRIPT, ScriptedModel

HERE = Path(__file__).resolve().parent
TOOLS = ["greet_hello", "greet_flood", "results_ls", "results_read", "results_grep"]
SUCCESS, FAILURE = "Hello, Ada!", "name is empty: nobody is greeted without one"
POINTER = re.compile(r"/results/greet_flood-\w+\.txt")
LINES = [f"line {number} of the flood" for number in (50_000, 50_001, 50_002)]  # what is read of the file
MOST = 5_000, 200_000  # letters of a pointer, and of a request to a model; the flood has 2.4 million

# name: (virtual environment, package, script with arguments)
EXAMPLES = {
    "mcp": ("mcp2", "mcp", ["clients.py", "mcp"]),
    "mcp1": ("mcp1", "mcp", ["clients.py", "mcp1"]),
    "fastmcp": ("mcp2", "fastmcp", ["clients.py", "fastmcp"]),
    "langchain-mcp-adapters": ("mcp1", "langchain-mcp-adapters", ["clients.py", "langchain"]),
    "langchain": ("mcp2", "langchain", ["with_langchain.py"]),
    "deepagents": ("mcp1", "deepagents", ["with_deepagents.py"]),
    "pydantic-ai": ("mcp2", "pydantic-ai-slim", ["with_pydantic_ai.py"]),
    "openai-agents": ("mcp2", "openai-agents", ["with_openai_agents.py"]),
    "ag2": ("mcp2", "ag2", ["with_ag2.py"]),
    "strands": ("mcp1", "strands-agents", ["with_strands.py"]),
    "crewai": ("crewai", "crewai", ["with_crewai.py"]),
}


def is_pointer(text: str) -> bool:
    return bool(POINTER.search(text)) and LINES[0] not in text and len(text) < MOST[0]


def check_client(output: str) -> dict[str, bool]:
    """Which steps of clients.py went well."""
    said = dict(re.findall(r"^(\w+): (.*)$", output, re.MULTILINE))
    return {
        "lists": said.get("lists", "").split() == TOOLS,
        "succeeds": said.get("succeeds") == SUCCESS,
        "fails": said.get("fails", "").endswith(FAILURE),
        "evicts": is_pointer(said.get("evicts", "")),
        "pages": said.get("pages") == LINES[0],
    }


def check_agent(output: str, model: ScriptedModel) -> dict[str, bool]:
    """Which steps of an agent went well, by what its model was shown."""
    greeted, failed, flooded, paged = (model.results() + [""] * 4)[:4]
    return {
        "lists": set(TOOLS) <= set(model.tools()),
        "succeeds": SUCCESS in greeted,
        "fails": FAILURE in failed,
        "evicts": is_pointer(flooded) and all(len(str(request)) < MOST[1] for request in model.requests),
        "pages": all(line in paged for line in LINES) and SCRIPT[-1] in output,
    }


def install(name: str, venvs: Path) -> None:
    start = time.monotonic()
    pip = [venvs / name / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-compile", "-r", HERE / f"requirements-{name}.txt"]  # what is imported is compiled then
    for command in [sys.executable, "-m", "venv", venvs / name], pip:
        subprocess.run(command, check=True, stdout=sys.stderr)
    print(f"{venvs / name} was installed in {time.monotonic() - start:.0f} s", file=sys.stderr)


def run(name: str, command: list[str], venvs: Path, scratch: str) -> tuple[list[str], str]:
    """A row of the table, and why the example failed, or ''."""
    venv, package, script = EXAMPLES[name]
    python = venvs / venv / "bin" / "python"
    if not python.exists():
        return [name, *[""] * 6, "no venv"], f"there is no {python}; --install makes it"
    versions = f"from importlib.metadata import version as v; print(v({package!r}), v('mcp'))"
    version, mcp = subprocess.check_output([python, "-c", versions], text=True).split()
    with ScriptedModel() as model:
        env = os.environ | {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "none", "NO_PROXY": "127.0.0.1"}
        if name == "crewai":
            env["HOME"] = scratch  # it keeps settings and a database there
        start = time.monotonic()
        try:
            done = subprocess.run(
                [python, HERE / script[0], *script[1:], *command],
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=180,
            )
            code, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            code, out, err = "a timeout", "", (late.stderr or b"").decode()
        took = time.monotonic() - start
    good = check_client(out) if script[0] == "clients.py" else check_agent(out, model)
    bad = [step for step, ok in good.items() if not ok]
    if code:
        bad.append(f"exit with {code}")
    shown = "".join(f"\nthe model was shown: {text[:500]!r}" for text in model.results())
    reason = f"{', '.join(bad)}\n{(err.strip() or out)[-2000:]}{shown}" if bad else ""
    return [name, version, *("yes" if ok else "**NO**" for ok in good.values()), f"mcp {mcp}, {took:.1f} s"], reason


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", metavar="A,B", help="run only these examples, separated by commas", default=",".join(EXAMPLES)
    )
    parser.add_argument("--install", action="store_true", help="make the virtual environments that they need")
    parser.add_argument(
        "--venvs", metavar="DIR", type=Path, default=HERE / "venvs", help="where they are; default: beside this file"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the command line of the server, after --")
    args = parser.parse_args()
    names = args.only.split(",")
    if unknown := [name for name in names if name not in EXAMPLES]:
        parser.error(f"no example is named {', '.join(unknown)}; there are {', '.join(EXAMPLES)}")
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        parser.error("the server's command is missing")
    if args.install:
        for venv in dict.fromkeys(EXAMPLES[name][0] for name in names):
            install(venv, args.venvs)
    reasons = {}
    print("| framework | version | lists | succeeds | fails | evicts | pages | notes |\n" + "|---" * 8 + "|")
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            row, reason = run(name, command, args.venvs, scratch)
            print("|", " | ".join(row), "|", flush=True)
            if reason:
                reasons[name] = reason
    for name, reason in reasons.items():
        print(f"\n{name} failed: {reason}", file=sys.stderr)
    return bool(reasons)


if __name__ == "__main__":
    sys.exit(main())
