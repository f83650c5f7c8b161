//! WIT types as text: one of each kind, and random ones.

use std::fmt::Write as _;

use super::rng::Rng;

/// A WIT type, the declaration that it needs, and a value.
pub const TYPES: [(&str, &str, &str); 29] = [
    ("bool", "", "true"),
    ("u8", "", "255"),
    ("u16", "", "65535"),
    ("u32", "", "4294967295"),
    ("u64", "", "18446744073709551615"),
    ("s8", "", "-128"),
    ("s16", "", "-32768"),
    ("s32", "", "-2147483648"),
    ("s64", "", "-9223372036854775808"),
    ("f32", "", "1.5"),
    ("f64", "", "1e-300"),
    ("char", "", r#""é""#),
    ("string", "", r#""some text""#),
    ("list<u8>", "", r#""AAEC""#),
    ("list<string>", "", r#"["a","b"]"#),
    ("list<u16, 2>", "", "[1,2]"),
    ("tuple<u8, string>", "", r#"[1,"a"]"#),
    ("tuple<f64, f64>", "", "[1.0,2.0]"),
    ("point", "record point { x-axis: u8, label: option<string> }", r#"{"x_axis":1,"label":null}"#),
    ("shape", "variant shape { circle(f64), round-box(u8), nothing }", r#"{"round-box":3}"#),
    ("answer", "variant answer { yes, no }", r#""yes""#),
    ("color", "enum color { dark-red, blue }", r#""dark-red""#),
    ("rights", "flags rights { read, write }", r#"["read","write"]"#),
    ("option<u8>", "", "null"),
    ("option<option<u8>>", "", r#"{"some":null}"#),
    ("result<u8, string>", "", r#"{"err":"no"}"#),
    ("result<_, string>", "", r#"{"ok":null}"#),
    ("map<string, u8>", "", r#"{"a":1}"#),
    ("map<u32, string>", "", r#"[[1,"a"]]"#),
];

/// An interface under construction: the types that it names.
pub struct Types<'r> {
    pub rng: &'r mut Rng,
    pub declarations: String,
    pub count: usize,
}

impl Types<'_> {
    /// A type of at most so many levels.
    pub fn any(&mut self, levels: usize) -> String {
        let kinds = if levels == 0 { 14 } else { 24 };
        match self.rng.below(kinds) {
            0 => "bool".to_owned(),
            1 => "u8".to_owned(),
            2 => "u16".to_owned(),
            3 => "u32".to_owned(),
            4 => "u64".to_owned(),
            5 => "s8".to_owned(),
            6 => "s64".to_owned(),
            7 => "f32".to_owned(),
            8 => "f64".to_owned(),
            9 => "char".to_owned(),
            10 => "string".to_owned(),
            11 => "list<u8>".to_owned(),
            12 => self.named("enum"),
            13 => self.named("flags"),
            14 => format!("list<{}>", self.any(levels - 1)),
            15 => format!("list<{}, {}>", self.any(levels - 1), 1 + self.rng.below(3)),
            16 | 17 => format!("option<{}>", self.any(levels - 1)),
            18 => {
                let items: Vec<String> = (0..1 + self.rng.below(3)).map(|_| self.any(levels - 1)).collect();
                format!("tuple<{}>", items.join(", "))
            }
            19 => {
                let (ok, err) = (self.any(levels - 1), self.any(levels - 1));
                let forms = [
                    format!("result<{ok}, {err}>"),
                    format!("result<_, {err}>"),
                    format!("result<{ok}>"),
                    "result".to_owned(),
                ];
                self.rng.pick(&forms).clone()
            }
            20 => {
                let key = *self.rng.pick(&["string", "u32", "s64", "bool", "char"]);
                format!("map<{key}, {}>", self.any(levels - 1))
            }
            21 | 22 => self.record(levels - 1),
            _ => self.variant(levels - 1),
        }
    }

    fn next_name(&mut self) -> String {
        self.count += 1;
        format!("type-{}", word(self.count))
    }

    fn named(&mut self, keyword: &str) -> String {
        let name = self.next_name();
        let labels: Vec<String> = (0..1 + self.rng.below(4)).map(|index| format!("label-{}", word(index))).collect();
        writeln!(self.declarations, "{keyword} {name} {{ {} }}", labels.join(", ")).unwrap();
        name
    }

    fn record(&mut self, levels: usize) -> String {
        let fields: Vec<String> =
            (0..1 + self.rng.below(4)).map(|index| format!("field-{}: {}", word(index), self.any(levels))).collect();
        let name = self.next_name();
        writeln!(self.declarations, "record {name} {{ {} }}", fields.join(", ")).unwrap();
        name
    }

    fn variant(&mut self, levels: usize) -> String {
        let mut cases = Vec::new();
        for index in 0..1 + self.rng.below(4) {
            let payload = if self.rng.coin() { format!("({})", self.any(levels)) } else { String::new() };
            cases.push(format!("case-{}{payload}", word(index)));
        }
        let name = self.next_name();
        writeln!(self.declarations, "variant {name} {{ {} }}", cases.join(", ")).unwrap();
        name
    }
}

/// A word for a number: WIT names hold words of letters.
fn word(number: usize) -> String {
    number.to_string().bytes().map(|digit| char::from(b'a' + digit - b'0')).collect()
}
