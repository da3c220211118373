//! How much room a text takes, and where a long one is broken.

use super::geometry::Point;

/// The height of a line.
pub(super) const LINE: f64 = 16.0;
/// Lines of a text have about so many letters, more where it is long.
const LETTERS: f64 = 18.0;

/// The width of a letter at 13 pixels, a little more than fonts have.
fn letter(sign: char) -> f64 {
    match sign {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 4.6,
        'f' | 't' | 'r' | ' ' | '/' | '(' | ')' | '-' | '⁻' | '¹' => 5.8,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 13.0,
        sign if sign >= '\u{2e80}' => 14.0,
        sign if sign.is_uppercase() => 10.0,
        _ => 8.4,
    }
}

/// The width of a line.
pub(super) fn width(line: &str) -> f64 {
    line.chars().map(letter).sum()
}

/// The width and height of some lines.
pub(super) fn size(lines: &[String]) -> Point {
    (lines.iter().map(|line| width(line)).fold(0.0, f64::max), LINE * lines.len() as f64)
}

/// The text in lines, broken after blanks and the signs that names are put together with, or else anywhere.
pub(super) fn wrapped(text: &str) -> Vec<String> {
    wrapped_at(text, LETTERS.max(3.2 * (text.chars().count() as f64).sqrt()))
}

/// The text in lines of at most so many letters.
pub(super) fn wrapped_at(text: &str, letters: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let count = |text: &str| text.trim_end().chars().count() as f64;
    for word in words(text).iter().flat_map(|word| pieces(word, letters)) {
        if !line.is_empty() && count(&line) + count(&word) > letters {
            lines.push(std::mem::take(&mut line).trim_end().to_owned());
        }
        line += &word;
    }
    lines.push(line.trim_end().to_owned());
    lines
}

/// The words of a text, each with the sign that ends it. A sign alone goes with the word behind it.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_inclusive([' ', '/', '_', '-', '.']) {
        match words.last_mut() {
            Some(last) if matches!(last.as_str(), "/" | "_" | "-" | ".") => last.push_str(word),
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// A word in pieces of at most so many letters.
fn pieces(word: &str, letters: f64) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut count = 0.0;
    for sign in word.chars() {
        if count + 1.0 > letters && count > 0.0 {
            pieces.push(String::new());
            count = 0.0;
        }
        count += 1.0;
        if let Some(last) = pieces.last_mut() {
            last.push(sign);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_label_is_broken_between_its_words() {
        assert_eq!(wrapped("father or mother"), ["father or mother"]);
        assert_eq!(
            wrapped("/people/person/place_of_birth or lives_in"),
            ["/people/person/", "place_of_birth or", "lives_in"]
        );
        assert_eq!(wrapped_at("abcdefgh", 3.0), ["abc", "def", "gh"]);
        assert_eq!(
            wrapped_at("/a/b or /c/d", 9.0),
            ["/a/b or", "/c/d"],
            "a sign goes with the word behind it"
        );
        assert_eq!(wrapped(""), [""]);
    }

    #[test]
    fn no_letter_is_lost_and_no_line_is_too_long() {
        let name = "/award/award_nominee/award_nominations./award/award_nomination/award_nominee⁻¹";
        for letters in 1..30_u32 {
            let lines = wrapped_at(name, f64::from(letters));
            assert_eq!(lines.concat(), name);
            assert!(lines.iter().all(|line| line.chars().count() <= letters as usize), "{lines:?}");
        }
    }
}
