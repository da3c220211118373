//! Splits the text of rules into tokens, each with its line and column.

use std::fmt;

use super::parser::Wrong;

/// A place in a text, both counted from 1; columns count characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Position {
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
    at: Position,
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Lexer { rest: text.chars().peekable(), at: Position { line: 1, column: 1 } }
    }

    fn step(&mut self) -> Option<char> {
        let letter = self.rest.next()?;
        if letter == '\n' {
            self.at = Position { line: self.at.line + 1, column: 1 };
        } else {
            self.at.column += 1;
        }
        Some(letter)
    }

    /// Whether a digit stands behind the next letter.
    fn is_digit_next(&self) -> bool {
        self.rest.clone().nth(1).is_some_and(|letter| letter.is_ascii_digit())
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> String {
        let mut word = String::new();
        while let Some(&letter) = self.rest.peek().filter(|letter| keep(**letter)) {
            self.step();
            word.push(letter);
        }
        word
    }

    /// The comment that stands behind the last token on its line, without the sign, and where it starts.
    pub fn comment_behind(&mut self) -> (String, Position) {
        self.take_while(|letter| letter.is_whitespace() && letter != '\n');
        let at = self.at;
        let is_comment = self.rest.peek() == Some(&'%');
        let text = if is_comment { self.take_while(|letter| letter != '\n') } else { String::new() };
        (text.strip_prefix('%').unwrap_or_default().trim().to_owned(), at)
    }

    /// The next token and where it starts; `%` starts a comment.
    pub fn next(&mut self) -> Result<(Token, Position), Wrong> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.peek() != Some(&'%') {
                break;
            }
            self.take_while(|letter| letter != '\n');
        }
        let at = self.at;
        let wrong = |finding: String| Wrong { at, finding };
        let token = match self.rest.peek().copied() {
            None => Token::End,
            Some('\'') => Token::Quoted(self.quoted(at)?),
            Some(letter) if letter.is_alphabetic() || letter == '_' => {
                Token::Word(self.take_while(|letter| letter.is_alphanumeric() || letter == '_'))
            }
            Some(letter) if letter.is_ascii_digit() || (letter == '-' && self.is_digit_next()) => {
                let sign = if letter == '-' { self.step().map(String::from) } else { None };
                // A point belongs to a number only before a digit: rules end in a point as well.
                let mut text = sign.unwrap_or_default() + &self.take_while(|letter| letter.is_ascii_digit());
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
        Ok((token, at))
    }

    fn quoted(&mut self, at: Position) -> Result<String, Wrong> {
        self.step();
        let mut name = String::new();
        loop {
            match self.step() {
                Some('\'') => return Ok(name),
                Some('\\') => {
                    name.push(match self.step() {
                        Some(letter @ ('\\' | '\'')) => letter,
                        Some('n') => '\n',
                        Some('r') => '\r',
                        _ => {
                            let finding =
                                r"a backslash in quotes must stand before ', \, n or r, but this does not";
                            return Err(Wrong { at, finding: finding.into() });
                        }
                    });
                }
                None | Some('\n') => {
                    return Err(Wrong {
                        at,
                        finding: "a quoted name must end on its line, but does not".into(),
                    });
                }
                Some(letter) => name.push(letter),
            }
        }
    }
}
