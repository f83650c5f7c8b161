// The tool of `guest-tools/greet`, in JavaScript.
//
// npm install @bytecodealliance/componentize-js
// npx componentize-js examples/greet-javascript/greet.js --wit guest-tools/greet/wit --world-name greet-tool -o greet.wasm
// witbox pack greet.wasm --wit guest-tools/greet/wit -o greet.wasm

export const greetings = {
  greet(people, tone) {
    return people.map((person) => greeting(person, tone));
  },
};

function greeting(person, tone) {
  if (person.name === "") {
    // What is thrown is the `err` of the WIT result.
    throw "people: a person without a name";
  }
  const isChild = person.age !== undefined && person.age < 18;
  const chosen = tone ?? (isChild ? "casual" : "formal");
  const text = chosen === "formal" ? `Good day, ${person.name}.` : `Hi ${person.name}!`;
  return { text, letters: BigInt([...text].length), tone: chosen };
}
