//! A person at the terminal, who answers what rules leave to them.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::sync::Arc;

use tokio::sync::{Mutex, mpsc};
use witbox::{Answer, Ask, Question};

use super::report::shown;

/// What is shown of a call's arguments at once, in bytes; the rest is shown when it is asked for.
const SHOWN: usize = 2_000;
/// The most that can be shown at all, and so approved.
const MAX_SHOWN: usize = 1 << 20;

/// The terminal, whatever standard input and output are.
struct Terminal {
    out: File,
    lines: Mutex<mpsc::Receiver<String>>,
}

/// The person at the terminal; nothing where there is none, or where standard error is not what they see.
pub(super) fn person() -> Option<Arc<dyn Ask>> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    let out = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
    let input = out.try_clone().ok()?;
    let (sender, lines) = mpsc::channel(1);
    // Reading a line cannot be broken off; the thread ends with the process.
    std::thread::spawn(move || {
        for line in BufReader::new(input).lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    Some(Arc::new(Terminal { out, lines: Mutex::new(lines) }))
}

#[async_trait::async_trait]
impl Ask for Terminal {
    async fn ask(&self, question: &Question) -> Answer {
        let mut lines = self.lines.lock().await;
        // What was typed before the question is no answer to it.
        while lines.try_recv().is_ok() {}
        let mut prompt = Prompt::new(question);
        let mut told = prompt.first();
        loop {
            if (&self.out).write_all(told.as_bytes()).is_err() {
                return Answer::Deny;
            }
            let Some(line) = lines.recv().await else { return Answer::Deny };
            match prompt.next(&line) {
                Next::Answered(answer) => return answer,
                Next::Tell(text) => told = text,
            }
        }
    }
}

/// A question as it is put, and what has been seen of it.
struct Prompt<'q> {
    question: &'q Question,
    seen_whole: bool,
}

enum Next {
    Answered(Answer),
    Tell(String),
}

impl<'q> Prompt<'q> {
    fn new(question: &'q Question) -> Self {
        Prompt { question, seen_whole: question.arguments.len() <= SHOWN }
    }

    fn first(&self) -> String {
        let Question { toolset, tool, call, operation, path, rule, arguments } = self.question;
        let mut start = arguments.as_str();
        let mut rest = String::new();
        if !self.seen_whole {
            start = &arguments[..arguments.floor_char_boundary(SHOWN)];
            rest = format!("… and so on, {} bytes; v shows all of it", arguments.len());
        }
        // Each on its own line, so that none can pass for another.
        format!(
            "\nwitbox: the toolset {} asks to {operation}\n  {}\nby {}\nfor the call {} of {} with\n  {}{rest}\n{}",
            line(toolset),
            line(path),
            line(rule),
            line(call),
            line(tool),
            line(start),
            self.ending(),
        )
    }

    fn ending(&self) -> &'static str {
        if self.seen_whole { "Allow it, in this call? [y/N] " } else { "Allow it, in this call? [v/N] " }
    }

    fn next(&mut self, typed: &str) -> Next {
        let arguments = &self.question.arguments;
        match typed.trim() {
            "y" | "yes" if self.seen_whole => Next::Answered(Answer::Allow),
            "y" | "yes" => Next::Tell(format!("Look at all of it first: v. {}", self.ending())),
            "v" if arguments.len() > MAX_SHOWN => Next::Tell(format!(
                "{} bytes are more than can be shown, so that they cannot be approved. {}",
                arguments.len(),
                self.ending()
            )),
            "v" => {
                self.seen_whole = true;
                Next::Tell(format!("  {}\n{}", line(arguments), self.ending()))
            }
            _ => Next::Answered(Answer::Deny),
        }
    }
}

fn line(text: &str) -> String {
    shown(text).replace('\n', "\\n").replace('\t', "\\t")
}

#[cfg(test)]
mod tests {
    use witbox::Operation;

    use super::*;

    fn question(arguments: String) -> Question {
        Question {
            call: "call_1".to_owned(),
            tool: "files_write".to_owned(),
            toolset: "files".to_owned(),
            arguments,
            operation: Operation::Write,
            path: "/docs/x".to_owned(),
            rule: "fs rule 1: ask write on /docs/**".to_owned(),
        }
    }

    fn answer(arguments: String, typed: &[&str]) -> (String, Option<Answer>) {
        let question = question(arguments);
        let mut prompt = Prompt::new(&question);
        let mut told = prompt.first();
        for line in typed {
            match prompt.next(line) {
                Next::Answered(answer) => return (told, Some(answer)),
                Next::Tell(text) => told.push_str(&text),
            }
        }
        (told, None)
    }

    #[test]
    fn only_a_yes_to_what_was_shown_is_one() {
        let short = || r#"{"path":"/docs/x"}"#.to_owned();
        let long = || format!(r#"{{"text":"{}"}}"#, "é".repeat(5_000));
        for (arguments, typed, expected) in [
            (short(), vec!["y"], Some(Answer::Allow)),
            (short(), vec![" yes "], Some(Answer::Allow)),
            (short(), vec![""], Some(Answer::Deny)),
            (short(), vec!["Y"], Some(Answer::Deny)),
            (short(), vec!["n"], Some(Answer::Deny)),
            (long(), vec!["y"], None),
            (long(), vec!["y", "v", "y"], Some(Answer::Allow)),
            (long(), vec![""], Some(Answer::Deny)),
            ("x".repeat(MAX_SHOWN + 1), vec!["v", "y"], None),
        ] {
            assert_eq!(answer(arguments, &typed).1, expected, "{typed:?}");
        }
        assert!(answer(long(), &["v"]).0.contains(&long()));
    }

    #[test]
    fn nothing_in_a_question_passes_for_witboxs_own_words() {
        let mut question = question("{}".to_owned());
        question.path = "/docs/a\nwitbox: Allow it? \u{1b}[2J\u{202e}".to_owned();
        let told = Prompt::new(&question).first();
        assert!(told.contains("/docs/a\\nwitbox: Allow it? \\u{1b}[2J\\u{202e}\n"), "{told}");
        assert_eq!(told.matches("\nwitbox:").count(), 1);
    }
}
