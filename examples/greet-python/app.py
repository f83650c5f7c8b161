"""The tool of `guest-tools/greet`, in Python.

pip install componentize-py
componentize-py -d guest-tools/greet/wit -w greet-tool componentize -p examples/greet-python app -o greet.wasm
witbox pack greet.wasm --wit guest-tools/greet/wit -o greet.wasm
"""

from componentize_py_types import Err
from wit_world.exports import Greetings as Exported
from wit_world.exports.greetings import Greeting, Person, Tone


class Greetings(Exported):
    def greet(self, people: list[Person], tone: Tone | None) -> list[Greeting]:
        return [greeting(person, tone) for person in people]


def greeting(person: Person, tone: Tone | None) -> Greeting:
    if not person.name:
        raise Err("people: a person without a name")
    is_child = person.age is not None and person.age < 18
    if tone is None:
        tone = Tone.CASUAL if is_child else Tone.FORMAL
    if tone == Tone.FORMAL:
        text = f"Good day, {person.name}."
    else:
        text = f"Hi {person.name}!"
    return Greeting(text=text, letters=len(text), tone=tone)
