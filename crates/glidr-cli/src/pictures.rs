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
    let pictures: Vec<Picture> = rules.iter().map(|shown| picture(shown, names)).collect();
    let folder = match path {
        Some(path) if format != Format::Svg || path.is_dir() || !is_svg(path) => path,
        path => return put(&one_text(format, &pictures, output)?, path, output),
    };
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let ending = if format == Format::Svg { "svg" } else { "dot" };
    for (place, (shown, picture)) in rules.iter().zip(&pictures).enumerate() {
        let target = names.predicates.name(shown.rule.target).chars().take(60);
        let target: String = target.map(|sign| if sign.is_alphanumeric() { sign } else { '-' }).collect();
        let path = folder.join(format!("{:03}-{target}.{ending}", place + 1));
        write_file(&path, text(format, picture))?;
    }
    let mut said = format!("wrote {}", counted(pictures.len(), "picture"));
    if format == Format::Svg && pictures.len() > 1 {
        write_file(&folder.join("sheet.svg"), sheet(&pictures[..pictures.len().min(ON_SHEET)]))?;
        said += " and sheet.svg";
    }
    output.say(&said);
    Ok(ExitCode::SUCCESS)
}

/// One rule's picture, or a sheet of the first.
fn one_text(format: Format, pictures: &[Picture], output: &Output) -> anyhow::Result<String> {
    match pictures {
        [one] => Ok(text(format, one)),
        [_, ..] if format == Format::Svg => {
            let shown = pictures.len().min(ON_SHEET);
            if shown < pictures.len() {
                output.say(&format!("a sheet of the first {shown} of {}", counted(pictures.len(), "rule")));
            }
            Ok(sheet(&pictures[..shown]))
        }
        _ => anyhow::bail!(
            "{} are no single picture: name a folder for them with -o",
            counted(pictures.len(), "rule")
        ),
    }
}

fn is_svg(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("svg"))
}

fn text(format: Format, picture: &Picture) -> String {
    if format == Format::Svg { picture.svg() } else { picture.dot() }
}

/// A rule's picture, with what was counted of it.
fn picture(shown: &Shown, names: RuleNames) -> Picture {
    let picture = Picture::of(&shown.rule, names);
    match shown.measures {
        Some(counted) => picture.with_measures(counted.value.confidence(), counted.value.support),
        None => picture,
    }
}
