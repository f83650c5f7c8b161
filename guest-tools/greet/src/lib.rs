//! Greetings: what a first tool looks like in Rust.

wit_bindgen::generate!({ world: "greet-tool", path: "wit" });

use exports::witbox::greet::greetings::{Greeting, Guest, Person, Tone};

struct Greetings;

export!(Greetings);

impl Guest for Greetings {
    fn greet(people: Vec<Person>, tone: Option<Tone>) -> Result<Vec<Greeting>, String> {
        people.iter().map(|person| greeting(person, tone)).collect()
    }
}

fn greeting(person: &Person, tone: Option<Tone>) -> Result<Greeting, String> {
    if person.name.is_empty() {
        return Err("people: a person without a name".to_owned());
    }
    let is_child = person.age.is_some_and(|age| age < 18);
    let tone = tone.unwrap_or(if is_child { Tone::Casual } else { Tone::Formal });
    let text = match tone {
        Tone::Formal => format!("Good day, {}.", person.name),
        Tone::Casual => format!("Hi {}!", person.name),
    };
    Ok(Greeting { letters: text.chars().count() as u64, text, tone })
}
