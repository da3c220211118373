//! Reads a file of facts: a line each, fields parted by tabs, plain or gzip.
//!
//! In: a path. Out: triples and properties by name, with the number of their line.
//! Every error names the file, the line and what was found there.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::error::{Error, Result};

/// The longest line that is read: longer ones are no triples.
const LONGEST_LINE: usize = 1 << 20;

/// A fact by its names, as it stands in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RawFact {
    /// `head<TAB>predicate<TAB>tail`
    Triple(String, String, String),
    /// `entity<TAB>property`
    PropertyFact(String, String),
}

/// All facts of the file at `path`, in the order of its lines.
pub(crate) fn read_facts(path: &Path) -> Result<Vec<RawFact>> {
    let file = File::open(path).map_err(|error| Error::file(path, error))?;
    if file.metadata().map_err(|error| Error::file(path, error))?.is_dir() {
        return Err(Error::data(path, "a file of facts was expected, but this is a folder"));
    }
    let mut plain = BufReader::new(file);
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
    let facts = if zipped {
        parse(path, &mut BufReader::new(MultiGzDecoder::new(plain)))?
    } else {
        parse(path, &mut plain)?
    };
    if facts.is_empty() {
        return Err(Error::data(path, "a data file must hold at least one fact, but this one is empty"));
    }
    Ok(facts)
}

fn parse(path: &Path, reader: &mut dyn BufRead) -> Result<Vec<RawFact>> {
    let mut facts = Vec::new();
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let read = reader.take(LONGEST_LINE as u64 + 2).read_until(b'\n', &mut bytes);
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
        if text.len() > LONGEST_LINE {
            return Err(at(format!("a line has at most {LONGEST_LINE} bytes, but this one is longer")));
        }
        if text.is_empty() {
            continue;
        }
        let text = std::str::from_utf8(text).map_err(|error| {
            at(format!("a line must be UTF-8, but byte {} of this one is not", error.valid_up_to() + 1))
        })?;
        facts.push(parse_line(text).map_err(at)?);
    }
    Ok(facts)
}

fn parse_line(text: &str) -> std::result::Result<RawFact, String> {
    let fields: Vec<&str> = text.split('\t').collect();
    if let Some(place) = fields.iter().position(|field| field.is_empty()) {
        let place = place + 1;
        return Err(format!(
            "a name must have at least one character, but field {place} of this line is empty"
        ));
    }
    match fields[..] {
        [head, predicate, tail] => Ok(RawFact::Triple(head.into(), predicate.into(), tail.into())),
        [entity, property] => Ok(RawFact::PropertyFact(entity.into(), property.into())),
        _ => Err(format!(
            "a triple has 3 tab-separated fields (a property 2), but this line has {}",
            fields.len()
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

    fn read(content: &[u8]) -> std::result::Result<Vec<RawFact>, String> {
        let mut file = tempfile::NamedTempFile::new().expect("a place for a small file");
        file.write_all(content).expect("a small file");
        let name = file.path().display().to_string();
        read_facts(file.path()).map_err(|error| error.to_string().replace(&name, "FILE"))
    }

    fn triple(h: &str, p: &str, t: &str) -> RawFact {
        RawFact::Triple(h.into(), p.into(), t.into())
    }

    #[test]
    fn crlf_a_mark_at_the_start_and_odd_names_are_accepted() {
        let facts = read("\u{feff}a b\tsays \"hi\"\t#1\r\n\r\nx\tmale\r\n'y'\t/film/by\tä,ö".as_bytes());
        let expected = vec![
            triple("a b", "says \"hi\"", "#1"),
            RawFact::PropertyFact("x".into(), "male".into()),
            triple("'y'", "/film/by", "ä,ö"),
        ];
        assert_eq!(facts, Ok(expected));
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
