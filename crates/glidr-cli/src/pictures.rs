//! Rules as pictures: one each in a folder, and the best on a sheet.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use glidr::internals::render::{Picture, sheet};
use glidr::internals::rule::RuleNames;

use crate::listing::{Format, Shown, put};
use crate::output::{Output, counted};
use crate::solve::write_file;

/// Pictures on a sheet.
const ON_SHEET: usize = 12;

/// Draws rules: into a folder, or of one rule, or the first rules on one sheet, to a file or to standard output.
pub fn draw(
    format: Format,
    rules: &[Shown],
    names: RuleNames,
    path: Option<&Path>,
    output: &Output,
) -> anyhow::Result<ExitCode> {
    let about = rules.iter().map(|shown| names.predicates.name(shown.rule.target).to_owned());
    let pictures = rules.iter().map(|shown| picture(shown, names));
    let drawn = Drawn {
        kind: "rule",
        is_svg: format == Format::Svg,
        about: about.collect(),
        pictures: pictures.collect(),
    };
    drawn.write(path, output)
}

/// Pictures that are to be written.
pub struct Drawn {
    /// What they show.
    pub kind: &'static str,
    /// Whether as SVG or for Graphviz.
    pub is_svg: bool,
    /// The predicate that each is about.
    pub about: Vec<String>,
    pub pictures: Vec<Picture>,
}

impl Drawn {
    /// Writes them into a folder; one, or the first on one sheet, to a file or to standard output.
    pub fn write(&self, path: Option<&Path>, output: &Output) -> anyhow::Result<ExitCode> {
        let folder = match path {
            Some(path) if !self.is_svg || path.is_dir() || !is_svg(path) => path,
            path => return put(&self.one_text(output)?, path, output),
        };
        std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let ending = if self.is_svg { "svg" } else { "dot" };
        for (place, (about, picture)) in self.about.iter().zip(&self.pictures).enumerate() {
            let signs = about.chars().take(60);
            let about: String = signs.map(|sign| if sign.is_alphanumeric() { sign } else { '-' }).collect();
            let path = folder.join(format!("{:03}-{about}.{ending}", place + 1));
            write_file(&path, self.text(picture))?;
        }
        let mut said = format!("wrote {}", counted(self.pictures.len(), "picture"));
        if self.is_svg && self.pictures.len() > 1 {
            let shown = self.pictures.len().min(ON_SHEET);
            write_file(&folder.join("sheet.svg"), sheet(&self.pictures[..shown]))?;
            said += " and sheet.svg";
        }
        output.say(&said);
        Ok(ExitCode::SUCCESS)
    }

    /// One picture, or a sheet of the first.
    fn one_text(&self, output: &Output) -> anyhow::Result<String> {
        let all = counted(self.pictures.len(), self.kind);
        match &self.pictures[..] {
            [one] => Ok(self.text(one)),
            [_, ..] if self.is_svg => {
                let shown = self.pictures.len().min(ON_SHEET);
                if shown < self.pictures.len() {
                    output.say(&format!("a sheet of the first {shown} of {all}"));
                }
                Ok(sheet(&self.pictures[..shown]))
            }
            _ => anyhow::bail!("{all} are no single picture: name a folder for them with -o"),
        }
    }

    fn text(&self, picture: &Picture) -> String {
        if self.is_svg { picture.svg() } else { picture.dot() }
    }
}

fn is_svg(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("svg"))
}

/// A rule's picture, with what was counted of it.
fn picture(shown: &Shown, names: RuleNames) -> Picture {
    let picture = Picture::of(&shown.rule, names);
    match shown.measures {
        Some(counted) => picture.with_measures(counted.value.confidence(), counted.value.support),
        None => picture,
    }
}
