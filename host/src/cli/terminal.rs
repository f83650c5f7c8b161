//! A person at the terminal, who answers what rules leave to them.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::sync::Arc;

use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::{Mutex, mpsc};
use witbox::{Answer, Ask, Question};

use super::report::shown;

/// What is shown of a call's arguments at once, in bytes; the rest is shown when it is asked for.
const SHOWN: usize = 2_000;
/// The most that can be shown at all, and so approved.
const MAX_SHOWN: usize = 1 << 20;

/// The person at the terminal; nothing where standard error is not what they see.
pub(super) fn person() -> Option<Arc<dyn Ask>> {
    if !std::io::stderr().is_terminal() {
        return None;
    }
    // Now, as it cannot be opened any more when calls run.
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
    Some(Arc::new(Person { terminal, open: Mutex::new(None) }))
}

/// Somebody at the terminal, which is left alone until there is a question.
struct Person {
    terminal: File,
    open: Mutex<Option<Terminal>>,
}

/// The terminal, whatever standard input and output are.
struct Terminal {
    out: File,
    /// Has a line read. Reading cannot be broken off, so that one may still be on when a question is withdrawn.
    wanted: mpsc::Sender<()>,
    lines: mpsc::Receiver<String>,
    is_reading: bool,
}

#[async_trait::async_trait]
impl Ask for Person {
    async fn ask(&self, question: &Question) -> Answer {
        let mut open = self.open.lock().await;
        if open.is_none() {
            *open = Terminal::open(&self.terminal);
        }
        let Some(terminal) = open.as_mut() else { return Answer::Deny };
        let answer = terminal.ask(question).await;
        answer.unwrap_or(Answer::Deny)
    }
}

impl Terminal {
    fn open(terminal: &File) -> Option<Self> {
        let (out, input) = (terminal.try_clone().ok()?, terminal.try_clone().ok()?);
        let (wanted, mut wishes) = mpsc::channel(1);
        let (sender, lines) = mpsc::channel(1);
        let reader = std::thread::Builder::new().spawn(move || {
            let mut input = BufReader::new(input);
            while wishes.blocking_recv().is_some() {
                let mut line = String::new();
                if input.read_line(&mut line).is_err() || sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        reader.ok()?;
        Some(Terminal { out, wanted, lines, is_reading: false })
    }

    async fn ask(&mut self, question: &Question) -> Option<Answer> {
        // What was typed before the question is no answer to it.
        tcflush(&self.out, QueueSelector::IFlush).ok()?;
        if self.lines.try_recv().is_ok() {
            self.is_reading = false;
        }
        let mut prompt = Prompt::new(question);
        let mut told = prompt.first();
        loop {
            self.out.write_all(told.as_bytes()).ok()?;
            if !self.is_reading {
                self.wanted.send(()).await.ok()?;
                self.is_reading = true;
            }
            let line = self.lines.recv().await?;
            self.is_reading = false;
            match prompt.next(&line) {
                Next::Answered(answer) => return Some(answer),
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
        if arguments.len() > SHOWN {
            start = &arguments[..arguments.floor_char_boundary(SHOWN)];
            rest = format!("… and so on, {} bytes", arguments.len());
            if !self.seen_whole {
                rest.push_str("; v shows all of it");
            }
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
                Next::Tell(format!("  {}\n{}", line(arguments), self.first()))
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
