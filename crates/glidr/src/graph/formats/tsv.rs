//! Reads a file of facts: a line each, fields parted by tabs, plain or gzip.
//!
//! In: a path. Out: triples and properties by name, with the number of their line.
//! Every error names the file, the line and what was found there.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::error::{Error, Result};

/// How many bytes a line has at most: longer ones are no triples.
const MAX_LINE: usize = 1 << 20;

/// A fact by its names, as a line holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RawFact<'l> {
    /// `head<TAB>predicate<TAB>tail`
    Triple(&'l str, &'l str, &'l str),
    /// `entity<TAB>property`
    Property(&'l str, &'l str),
}

impl RawFact<'_> {
    /// Whether it names the columns of a table.
    fn is_header(&self) -> bool {
        let RawFact::Triple(head, predicate, tail) = self else { return false };
        let names = [head, predicate, tail].map(|name| name.trim().to_lowercase());
        names.iter().zip(HEADERS).all(|(name, words)| words.contains(&name.trim_start_matches('#')))
    }
}

/// What was found in a file beside facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileReport {
    /// Whether the first line names the columns.
    pub has_header: bool,
    /// How many lines have a name that begins or ends with a blank.
    pub padded: usize,
    /// The first of these lines.
    pub first_padded: usize,
    facts: usize,
}

/// Words that name the columns of a table of triples.
const HEADERS: [&[&str]; 3] = [
    &["head", "h", "subject", "subj", "s", "source", "from", "entity1"],
    &["relation", "rel", "r", "predicate", "pred", "p", "property", "edge", "label", "type"],
    &["tail", "t", "object", "obj", "o", "target", "to", "entity2"],
];

/// Gives all facts of the file at `path`, or of standard input for `-`, to `take`, in the order of its lines.
pub(crate) fn read_facts(path: &Path, mut take: impl FnMut(RawFact)) -> Result<FileReport> {
    if path.as_os_str() == "-" {
        return read_plain_or_zipped(path, BufReader::new(std::io::stdin()), &mut take);
    }
    let file = File::open(path).map_err(|error| Error::file(path, error))?;
    if file.metadata().map_err(|error| Error::file(path, error))?.is_dir() {
        return Err(Error::data(path, "a file of facts was expected, but this is a folder"));
    }
    read_plain_or_zipped(path, BufReader::new(file), &mut take)
}

fn read_plain_or_zipped(
    path: &Path,
    mut plain: BufReader<impl Read>,
    take: &mut dyn FnMut(RawFact),
) -> Result<FileReport> {
    let start = plain.fill_buf().map_err(|error| Error::file(path, error))?;
    // Safetensors: the length of a header in eight bytes, then the header.
    if let Some([_, _, _, _, 0, 0, 0, 0, b'{']) = start.first_chunk::<9>() {
        return Err(Error::data(path, "a file of facts was expected, but this is a model file"));
    }
    let zipped = start.starts_with(&[0x1f, 0x8b]);
    if !zipped && path.extension().is_some_and(|ending| ending == "gz") {
        let finding = "the name ends in .gz, but the content is not gzip";
        return Err(Error::data(path, finding));
    }
    let found = if zipped {
        parse(path, &mut BufReader::new(MultiGzDecoder::new(plain)), take)?
    } else {
        parse(path, &mut plain, take)?
    };
    if found.facts == 0 {
        return Err(Error::data(path, "a data file must hold at least one fact, but this one is empty"));
    }
    Ok(found)
}

/// Reads line by line.
fn parse(path: &Path, reader: &mut dyn BufRead, take: &mut dyn FnMut(RawFact)) -> Result<FileReport> {
    let mut found = FileReport::default();
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let read = reader.take(MAX_LINE as u64 + 2).read_until(b'\n', &mut bytes);
        let length = read.map_err(|error| broken(path, line, error))?;
        if length == 0 {
            break;
        }
        let at = |finding: String| Error::Line { path: path.to_owned(), line, finding };
        let mut text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        text = text.strip_suffix(b"\r").unwrap_or(text);
        if line == 1 {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        if text.len() > MAX_LINE {
            return Err(at(format!("a line has at most {MAX_LINE} bytes, but this one is longer")));
        }
        if text.is_empty() {
            continue;
        }
        let text = std::str::from_utf8(text).map_err(|error| {
            at(format!("a line must be UTF-8, but byte {} of this one is not", error.valid_up_to() + 1))
        })?;
        let fact = parse_line(text).map_err(at)?;
        if line == 1 && fact.is_header() {
            found.has_header = true;
            continue;
        }
        if text.split('\t').any(|name| name != name.trim()) {
            found.padded += 1;
            found.first_padded = if found.padded == 1 { line } else { found.first_padded };
        }
        take(fact);
        found.facts += 1;
    }
    Ok(found)
}

/// The fact of one line.
fn parse_line(text: &str) -> std::result::Result<RawFact<'_>, String> {
    if let Some(place) = text.split('\t').position(str::is_empty) {
        let place = place + 1;
        return Err(format!(
            "a name must have at least one character, but field {place} of this line is empty"
        ));
    }
    let mut fields = text.split('\t');
    match (fields.next(), fields.next(), fields.next(), fields.count()) {
        (Some(head), Some(predicate), Some(tail), 0) => Ok(RawFact::Triple(head, predicate, tail)),
        (Some(entity), Some(property), None, _) => Ok(RawFact::Property(entity, property)),
        _ => Err(format!(
            "a triple has 3 tab-separated fields (a property 2), but this line has {}",
            text.split('\t').count()
        )),
    }
}

fn broken(path: &Path, line: usize, source: std::io::Error) -> Error {
    match source.kind() {
        ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof => Error::Line {
            path: path.to_owned(),
            line,
            finding: format!("the gzip stream is broken here: {source}"),
        },
        _ => Error::file(path, source),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// The facts of a file, each as its fields.
    fn read(content: &[u8]) -> std::result::Result<Vec<Vec<String>>, String> {
        let mut file = tempfile::NamedTempFile::new().expect("a place for a small file");
        file.write_all(content).expect("a small file");
        let name = file.path().display().to_string();
        let mut facts = Vec::new();
        let take = |fact: RawFact| match fact {
            RawFact::Triple(head, predicate, tail) => facts.push(fields(&[head, predicate, tail])),
            RawFact::Property(entity, property) => facts.push(fields(&[entity, property])),
        };
        read_facts(file.path(), take).map_err(|error| error.to_string().replace(&name, "FILE"))?;
        Ok(facts)
    }

    fn fields(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn crlf_a_mark_at_the_start_and_odd_names_are_accepted() {
        let facts = read("\u{feff}a b\tsays \"hi\"\t#1\r\n\r\nx\tmale\r\n'y'\t/film/by\tä,ö".as_bytes());
        let expected = vec![
            fields(&["a b", "says \"hi\"", "#1"]),
            fields(&["x", "male"]),
            fields(&["'y'", "/film/by", "ä,ö"]),
        ];
        assert_eq!(facts, Ok(expected));
    }

    #[test]
    fn a_line_that_names_the_columns_is_no_fact() {
        let facts = Ok(vec![fields(&["head", "p", "b"])]);
        assert_eq!(read(b"Subject\tPredicate\tObject\nhead\tp\tb\n"), facts);
        assert_eq!(read(b"head\tp\tb\n"), facts);
    }

    #[test]
    fn a_wrong_number_of_fields_names_file_line_and_finding() {
        let finding = "a triple has 3 tab-separated fields (a property 2), but this line has";
        assert_eq!(read(b"a\tb\tc\na b c\n"), Err(format!("FILE:2: {finding} 1")));
        assert_eq!(read(b"a\tb\tc\td\n"), Err(format!("FILE:1: {finding} 4")));
    }

    #[test]
    fn an_empty_field_an_empty_file_and_bad_utf8_are_refused() {
        assert!(
            read(b"a\t\tc\n").is_err_and(|error| error.starts_with("FILE:1: ") && error.contains("field 2"))
        );
        assert!(read(b"").is_err_and(|error| error.contains("this one is empty")));
        assert!(read(b"\n\n").is_err_and(|error| error.contains("this one is empty")));
        assert!(
            read(b"a\tb\tc\na\t\xff\tc\n")
                .is_err_and(|error| error.starts_with("FILE:2: ") && error.contains("byte 3"))
        );
    }

    #[test]
    fn a_model_is_not_taken_for_facts() {
        let error = read(b"\x40\x00\x00\x00\x00\x00\x00\x00{\"__metadata__\":{}}");
        assert!(error.is_err_and(|error| error.ends_with("but this is a model file")));
    }

    #[test]
    fn gzip_is_read_and_a_broken_one_is_refused_with_its_line() {
        let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        for number in 0..2000 {
            writeln!(zip, "e{number}\tp\te{}", number * 7 % 1999).expect("memory takes writes");
        }
        let zipped = zip.finish().expect("memory takes writes");
        assert_eq!(read(&zipped).map(|facts| facts.len()), Ok(2000));
        let cut = read(&zipped[..zipped.len() / 2]);
        assert!(cut.as_ref().is_err_and(|error| error.contains("gzip stream is broken")), "{cut:?}");
    }
}
