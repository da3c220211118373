//! Splits the text of rules into tokens, each with its line and column.

use std::fmt;

use super::parse::Wrong;

/// A place in a text, both counted from 1; columns count characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A bare word: letters, digits and underscores, from a letter or underscore on.
    Word(String),
    /// A name in single quotes.
    Quoted(String),
    Number(f64),
    Sign(&'static str),
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(word) => write!(f, "“{word}”"),
            Token::Quoted(name) => write!(f, "'{name}'"),
            Token::Number(number) => write!(f, "the number {number}"),
            Token::Sign(sign) => write!(f, "“{sign}”"),
            Token::End => f.write_str("the end of the text"),
        }
    }
}

pub(super) struct Lexer<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
    mark: Mark,
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Lexer { rest: text.chars().peekable(), mark: Mark { line: 1, column: 1 } }
    }

    fn step(&mut self) -> Option<char> {
        let letter = self.rest.next()?;
        if letter == '\n' {
            self.mark = Mark { line: self.mark.line + 1, column: 1 };
        } else {
            self.mark.column += 1;
        }
        Some(letter)
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> String {
        let mut word = String::new();
        while let Some(&letter) = self.rest.peek().filter(|letter| keep(**letter)) {
            self.step();
            word.push(letter);
        }
        word
    }

    /// The next token and where it starts; `%` starts a comment.
    pub fn next(&mut self) -> Result<(Token, Mark), Wrong> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.peek() != Some(&'%') {
                break;
            }
            self.take_while(|letter| letter != '\n');
        }
        let mark = self.mark;
        let wrong = |finding: String| Wrong { mark, finding };
        let token = match self.rest.peek().copied() {
            None => Token::End,
            Some('\'') => Token::Quoted(self.quoted(mark)?),
            Some(letter) if letter.is_alphabetic() || letter == '_' => {
                Token::Word(self.take_while(|letter| letter.is_alphanumeric() || letter == '_'))
            }
            Some(letter) if letter.is_ascii_digit() => {
                // A point belongs to a number only before a digit: rules end in a point as well.
                let mut text = self.take_while(|letter| letter.is_ascii_digit());
                let mut after = self.rest.clone();
                if after.next() == Some('.') && after.next().is_some_and(|c| c.is_ascii_digit()) {
                    self.step();
                    text = text + "." + &self.take_while(|c| c.is_ascii_digit());
                }
                let mut after = self.rest.clone();
                if after.next_if(|c| matches!(c, 'e' | 'E')).is_some() {
                    self.step();
                    let sign =
                        if self.rest.peek() == Some(&'-') { self.step().map(String::from) } else { None };
                    text = text + "e" + &sign.unwrap_or_default() + &self.take_while(|c| c.is_ascii_digit());
                }
                match text.parse::<f64>() {
                    Ok(number) if number.is_finite() => Token::Number(number),
                    _ => return Err(wrong(format!("a number must be finite decimal, but here is {text}"))),
                }
            }
            Some(letter) => {
                self.step();
                let double = letter == ':' && matches!(self.rest.peek(), Some('-' | ':'));
                match (letter, double.then(|| self.step()).flatten()) {
                    (':', Some('-')) => Token::Sign(":-"),
                    (':', Some(':')) => Token::Sign("::"),
                    (':', _) => Token::Sign(":"),
                    ('(', _) => Token::Sign("("),
                    (')', _) => Token::Sign(")"),
                    (',', _) => Token::Sign(","),
                    (';', _) => Token::Sign(";"),
                    ('=', _) => Token::Sign("="),
                    ('/', _) => Token::Sign("/"),
                    ('.', _) => Token::Sign("."),
                    _ => {
                        let shown = letter.escape_default();
                        return Err(wrong(format!(
                            "names with signs must be in single quotes, but here is “{shown}”"
                        )));
                    }
                }
            }
        };
        Ok((token, mark))
    }

    fn quoted(&mut self, mark: Mark) -> Result<String, Wrong> {
        self.step();
        let mut name = String::new();
        loop {
            match self.step() {
                Some('\'') => return Ok(name),
                Some('\\') => {
                    let Some(letter @ ('\\' | '\'')) = self.step() else {
                        let finding = r"a backslash in quotes must stand before ' or \, but this does not";
                        return Err(Wrong { mark, finding: finding.into() });
                    };
                    name.push(letter);
                }
                None | Some('\n') => {
                    return Err(Wrong {
                        mark,
                        finding: "a quoted name must end on its line, but does not".into(),
                    });
                }
                Some(letter) => name.push(letter),
            }
        }
    }
}
