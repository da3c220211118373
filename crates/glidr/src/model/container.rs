//! The file that models and checkpoints share: safetensors with one JSON header of ours.
//!
//! The safetensors metadata has one key, `glidr`: a JSON object with `format`, `version`,
//! `digest` and `header`. The digest is the SHA-256 of the header and of every tensor, so an
//! altered file is refused. Texts are
//! tensors of bytes. Files are written beside their place and renamed.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::graph::hex;
use crate::util::atomic_file;
use crate::util::file_kind::FileKind;

/// The version of both formats.
const VERSION: u32 = 2;
/// The largest file that is read.
const MAX_BYTES: u64 = 16 << 30;

/// Numbers with a shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The shape.
    pub shape: Vec<usize>,
    /// The numbers, row by row.
    pub values: Vec<f32>,
}

/// A header, named tensors and named texts.
#[derive(Clone, Debug)]
pub struct Container<H> {
    /// What is said about the tensors.
    pub header: H,
    /// The tensors by name.
    pub tensors: BTreeMap<String, Tensor>,
    /// Texts by name; no tensor has the same.
    pub texts: BTreeMap<String, String>,
}

/// What stands in the file under one name.
type Part<'a> = (Dtype, Vec<usize>, Cow<'a, [u8]>);

#[derive(Serialize, Deserialize)]
struct Envelope {
    format: String,
    version: u32,
    digest: String,
    header: serde_json::Value,
}

impl<H: Serialize + DeserializeOwned> Container<H> {
    /// Writes the file beside `path` and renames it, so that `path` is never half written.
    pub fn write(&self, path: &Path, format: &str) -> Result<()> {
        atomic_file::write(path, self.bytes(format))
    }

    fn bytes(&self, format: &str) -> Vec<u8> {
        let header = serde_json::to_value(&self.header).expect("a header is plain data");
        let mut parts: BTreeMap<&str, Part> = BTreeMap::new();
        for (name, tensor) in &self.tensors {
            let bytes = tensor.values.iter().flat_map(|value| value.to_le_bytes()).collect();
            parts.insert(name, (Dtype::F32, tensor.shape.clone(), Cow::Owned(bytes)));
        }
        for (name, text) in &self.texts {
            parts.insert(name, (Dtype::U8, vec![text.len()], Cow::Borrowed(text.as_bytes())));
        }
        let digest = digest(&header, parts.iter().map(|(name, (.., bytes))| (*name, &**bytes)));
        let envelope = Envelope { format: format.into(), version: VERSION, digest, header };
        let text = serde_json::to_string(&envelope).expect("a header is plain data");
        let views = parts.iter().map(|(name, (dtype, shape, bytes))| {
            let view = TensorView::new(*dtype, shape.clone(), bytes);
            ((*name).to_owned(), view.expect("a tensor has as many values as its shape says"))
        });
        // One key only: several would be written in no fixed order.
        let metadata = HashMap::from([("glidr".to_owned(), text)]);
        serialize(views, Some(metadata)).expect("tensors and texts can always be written")
    }

    /// Reads a file of this format, or says why it is none.
    pub fn read(path: &Path, format: &str) -> Result<Self> {
        let what = format!("a {} file", format.replace('-', " "));
        Self::read_as(path, format, &what).map_err(|error| {
            let right = FileKind::of_format(format);
            FileKind::mistaken(path, &what, right.as_slice()).unwrap_or(error)
        })
    }

    fn read_as(path: &Path, format: &str, what: &str) -> Result<Self> {
        let refuse = |finding: String| Error::data(path, finding);
        let broken =
            |error: &dyn std::fmt::Display| refuse(format!("{what} must be whole safetensors, but: {error}"));
        let bytes = read_bytes(path, what)?;
        let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(|error| broken(&error))?;
        let tensors = SafeTensors::deserialize(&bytes).map_err(|error| broken(&error))?;
        let text = metadata.metadata().as_ref().and_then(|metadata| metadata.get("glidr"));
        let text =
            text.ok_or_else(|| refuse(format!("{what} has a “glidr” header, but this file has none")))?;
        let envelope: Envelope = serde_json::from_str(text).map_err(|error| broken(&error))?;
        if envelope.format != format {
            return Err(refuse(format!("{what} was expected, but this is “{}”", envelope.format)));
        }
        if envelope.version != VERSION {
            let found = envelope.version;
            return Err(refuse(format!(
                "{what} of version {VERSION} was expected, but this is version {found}: learn it again"
            )));
        }
        let mut raw: Vec<(&str, &[u8])> = tensors.iter().map(|(name, view)| (name, view.data())).collect();
        raw.sort_unstable();
        if digest(&envelope.header, raw.into_iter()) != envelope.digest {
            return Err(refuse(
                "the content must match its digest, but does not: the file was altered".into(),
            ));
        }
        let header = serde_json::from_value(envelope.header).map_err(|error| broken(&error))?;
        let mut found = Container { header, tensors: BTreeMap::new(), texts: BTreeMap::new() };
        for (name, view) in tensors.iter() {
            found.add(name, &view).map_err(refuse)?;
        }
        Ok(found)
    }

    /// Adds what a part of the file holds: numbers, or a text.
    fn add(&mut self, name: &str, view: &TensorView) -> std::result::Result<(), String> {
        match view.dtype() {
            Dtype::F32 => {
                let numbers = view.data().as_chunks::<4>().0.iter();
                let values = numbers.map(|bytes| f32::from_le_bytes(*bytes)).collect();
                self.tensors.insert(name.to_owned(), Tensor { shape: view.shape().to_vec(), values });
            }
            Dtype::U8 => {
                let text = std::str::from_utf8(view.data());
                let text = text.map_err(|error| format!("text “{name}” must be UTF-8, but: {error}"))?;
                self.texts.insert(name.to_owned(), text.to_owned());
            }
            other => return Err(format!("tensor “{name}” must be F32 or U8, but is {other:?}")),
        }
        Ok(())
    }
}

impl<H> Container<H> {
    /// Takes the tensor called `name`, which must have this shape.
    pub fn take(&mut self, path: &Path, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let tensor = self.tensors.remove(name);
        let tensor = tensor.ok_or_else(|| Error::data(path, format!("tensor “{name}” is missing")))?;
        if tensor.shape != shape {
            let finding =
                format!("tensor “{name}” must have the shape {shape:?}, but has {:?}", tensor.shape);
            return Err(Error::data(path, finding));
        }
        if let Some(bad) = tensor.values.iter().find(|value| !value.is_finite()) {
            return Err(Error::data(path, format!("tensor “{name}” must be finite, but holds {bad}")));
        }
        Ok(tensor.values)
    }
}

/// The bytes of a file, unless it is larger than any that is read.
fn read_bytes(path: &Path, what: &str) -> Result<Vec<u8>> {
    let failed = |error| Error::file(path, error);
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    if length > MAX_BYTES {
        let finding = format!("{what} has at most {MAX_BYTES} bytes, but this one has {length}");
        return Err(Error::data(path, finding));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

fn digest<'a>(header: &serde_json::Value, tensors: impl Iterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut hash = Sha256::new();
    hash.update(header.to_string());
    for (name, bytes) in tensors {
        hash.update(format!("\n{name} {}\n", bytes.len()));
        hash.update(bytes);
    }
    hex(&hash.finalize())
}
