//! Reads handwritten digits: the IDX files of MNIST, plain or gzip.
//!
//! In: a folder with the four files under their usual names. Out: images as bytes, with labels. A file
//! that breaks the format is refused with its name, the rule and what was found; counts are checked
//! before memory is asked for.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use glidr::{Error, Result};

/// Pixels on a side of an image.
pub const SIDE: usize = 28;
/// The most images that a file may claim to hold.
const MAX_IMAGES: u32 = 10_000_000;
/// What the first four bytes of the files say: unsigned bytes, in three dimensions or in one.
const IMAGES: u32 = 0x0803;
const LABELS: u32 = 0x0801;

/// Images with their labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digits {
    /// `SIDE · SIDE` bytes an image, row by row.
    pub pixels: Vec<u8>,
    /// The digit that each image shows.
    pub labels: Vec<u8>,
}

impl Digits {
    /// The 60,000 images of the training files in `folder`.
    pub fn train(folder: &Path) -> Result<Self> {
        Digits::read(folder, "train")
    }

    /// The 10,000 images of the test files in `folder`.
    pub fn test(folder: &Path) -> Result<Self> {
        Digits::read(folder, "t10k")
    }

    fn read(folder: &Path, part: &str) -> Result<Self> {
        let images = find(folder, &format!("{part}-images-idx3-ubyte"))?;
        let labels = find(folder, &format!("{part}-labels-idx1-ubyte"))?;
        let pixels = read_idx(&images, IMAGES)?;
        let labels_read = read_idx(&labels, LABELS)?;
        if pixels.len() / (SIDE * SIDE) != labels_read.len() {
            return Err(Error::data(
                labels,
                format!(
                    "there must be as many labels as images in {}, but there are {} and {}",
                    images.display(),
                    labels_read.len(),
                    pixels.len() / (SIDE * SIDE)
                ),
            ));
        }
        if let Some(place) = labels_read.iter().position(|&label| label > 9) {
            let finding =
                format!("a label must be 0 to 9, but label {} is {}", place + 1, labels_read[place]);
            return Err(Error::data(labels, finding));
        }
        Ok(Digits { pixels, labels: labels_read })
    }

    /// How many images there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The pixels of one image.
    pub fn image(&self, number: usize) -> &[u8] {
        &self.pixels[number * SIDE * SIDE..][..SIDE * SIDE]
    }

    /// The images from `start` on, and those before it.
    #[must_use]
    pub fn split(mut self, start: usize) -> (Digits, Digits) {
        let start = start.min(self.len());
        let pixels = self.pixels.split_off(start * SIDE * SIDE);
        let labels = self.labels.split_off(start);
        (self, Digits { pixels, labels })
    }
}

/// The file called `name` or `name.gz`.
fn find(folder: &Path, name: &str) -> Result<PathBuf> {
    let (plain, packed) = (folder.join(name), folder.join(format!("{name}.gz")));
    match (plain.is_file(), packed.is_file()) {
        (true, _) => Ok(plain),
        (false, true) => Ok(packed),
        _ => Err(Error::data(folder, format!("MNIST has a file {name} or {name}.gz, but neither is here"))),
    }
}

/// The bytes after the header of an IDX file.
fn read_idx(path: &Path, magic: u32) -> Result<Vec<u8>> {
    let failed = |error| Error::file(path, error);
    let refuse = |finding: String| Error::data(path, finding);
    let mut file = BufReader::new(File::open(path).map_err(failed)?);
    let packed = std::io::BufRead::fill_buf(&mut file).map_err(failed)?.starts_with(&[0x1f, 0x8b]);
    let mut file: Box<dyn Read> = if packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut number = |what: &str| {
        let mut bytes = [0; 4];
        match file.read_exact(&mut bytes) {
            Ok(()) => Ok(u32::from_be_bytes(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Err(refuse(format!("the file must give its {what}, but ends before that")))
            }
            Err(error) => Err(failed(error)),
        }
    };
    let found = number("kind")?;
    if found != magic {
        return Err(refuse(format!("the file must start with {magic:#010x}, but starts with {found:#010x}")));
    }
    let count = number("number of items")?;
    if count == 0 || count > MAX_IMAGES {
        return Err(refuse(format!("the file must hold 1 to {MAX_IMAGES} items, but says {count}")));
    }
    let mut size = 1;
    if magic == IMAGES {
        let (rows, columns) = (number("rows")?, number("columns")?);
        if (rows as usize, columns as usize) != (SIDE, SIDE) {
            return Err(refuse(format!("images must be {SIDE} × {SIDE}, but are {rows} × {columns}")));
        }
        size = SIDE * SIDE;
    }
    let wanted = count as usize * size;
    let mut bytes = Vec::new();
    // One byte more than promised shows that there is too much.
    file.take(wanted as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() != wanted {
        let found = if bytes.len() < wanted { bytes.len().to_string() } else { "more".into() };
        return Err(refuse(format!("{count} items must be {wanted} bytes, but there are {found}")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn images(count: u32) -> Vec<u8> {
        let mut bytes: Vec<u8> = [IMAGES, count, 28, 28].iter().flat_map(|n| n.to_be_bytes()).collect();
        bytes.extend((0..count as usize * SIDE * SIDE).map(|n| (n % 251) as u8));
        bytes
    }

    fn labels(count: u32) -> Vec<u8> {
        let mut bytes: Vec<u8> = [LABELS, count].iter().flat_map(|n| n.to_be_bytes()).collect();
        bytes.extend((0..count).map(|n| (n % 10) as u8));
        bytes
    }

    fn folder(images: &[u8], labels: &[u8], packed: bool) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, bytes) in [("train-images-idx3-ubyte", images), ("train-labels-idx1-ubyte", labels)] {
            let path = folder.path().join(if packed { format!("{name}.gz") } else { name.into() });
            let file = File::create(path).expect("a file");
            if packed {
                let mut file = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
                file.write_all(bytes).expect("written");
            } else {
                (&file).write_all(bytes).expect("written");
            }
        }
        folder
    }

    #[test]
    fn plain_and_packed_files_hold_the_same_digits() {
        let plain = Digits::train(folder(&images(3), &labels(3), false).path()).expect("read");
        let packed = Digits::train(folder(&images(3), &labels(3), true).path()).expect("read");
        assert_eq!(plain, packed);
        assert_eq!((plain.len(), plain.image(1)[0], plain.labels[2]), (3, 31, 2));
        let (first, rest) = plain.split(1);
        assert_eq!((first.len(), rest.len(), rest.labels[0]), (1, 2, 1));
    }

    #[test]
    fn a_broken_file_is_refused_with_the_rule_and_the_finding() {
        let refused = |images: &[u8], labels: &[u8], packed: bool, finding: &str| {
            let folder = folder(images, labels, packed);
            let error = Digits::train(folder.path()).expect_err("broken").to_string();
            assert!(error.contains(finding), "{error}");
            assert!(error.contains("ubyte"), "{error}");
        };
        refused(&labels(3), &labels(3), false, "must start with 0x00000803, but starts with 0x00000801");
        refused(&images(3)[..100], &labels(3), true, "3 items must be 2352 bytes, but there are 84");
        refused(&[images(2), vec![0]].concat(), &labels(2), false, "must be 1568 bytes, but there are more");
        refused(&images(3)[..6], &labels(3), false, "must give its number of items, but ends before that");
        refused(&images(3), &labels(4), false, "as many labels as images");
        let mut huge = images(1);
        huge[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
        refused(&huge, &labels(1), false, "must hold 1 to 10000000 items, but says 4294967295");
        let mut odd = images(1);
        odd[11] = 27;
        refused(&odd, &labels(1), false, "images must be 28 × 28, but are 27 × 28");
        let mut eleven = labels(1);
        eleven[8] = 11;
        refused(&images(1), &eleven, false, "a label must be 0 to 9, but label 1 is 11");
    }

    #[test]
    fn a_folder_without_the_files_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let error = Digits::test(folder.path()).expect_err("empty").to_string();
        assert!(error.contains("t10k-images-idx3-ubyte.gz, but neither is here"), "{error}");
    }
}
