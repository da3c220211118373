//! Pictures of what a run found, as SVG: links on real digits, the rule of each digit, the confusion matrix.

use std::fs;
use std::path::Path;

use burn::tensor::Device;
use glidr::internals::infer::Slots;
use glidr::internals::model::Extraction;
use glidr::internals::rule::{Filler, Filling};
use glidr::{Error, Result};
use glidr_burn::layer::numbers;

use super::confusion::Confusion;
use super::idx::{Digits, SIDE};
use super::network::{GRID, PATCH, PATCHES};
use super::run::DigitsRun;
use super::settings::DIGITS;

/// Pixels of a picture for one pixel of an image.
const ZOOM: usize = 6;
/// The strongest links of an image that are drawn.
const ARROWS: usize = 14;

/// The slots of every rule filled by the top 0.25 of their weight.
fn fillings(run: &DigitsRun) -> Vec<Filling> {
    let (schema, parameters) = (run.network.schema, &run.parameters.0);
    let pairs = schema.slots() * schema.fillers();
    let owns = schema.variables * schema.own_fillers();
    let part = |name: &str, rule: usize, size: usize| {
        parameters.get(name).map_or(Vec::new(), |all| all.values[rule * size..][..size].to_vec())
    };
    let rules = 0..run.network.settings.rules();
    rules
        .map(|rule| {
            let logits =
                Slots { pairs: part("rule.pairs", rule, pairs), owns: part("rule.owns", rule, owns) };
            Extraction::TopP(0.25).filling(&Slots::soft(&logits, &schema), &schema)
        })
        .collect()
}

fn predicate(filler: Filler) -> Option<usize> {
    match filler {
        Filler::Direct(predicate) | Filler::Inverse(predicate) => Some(predicate.index()),
        Filler::True => None,
    }
}

/// For every binary predicate, by how many digits' rules it is used (top 0.25 of a slot's weight).
pub fn reuse(run: &DigitsRun) -> Result<Vec<usize>> {
    let settings = &run.network.settings;
    let mut used = vec![[false; DIGITS]; settings.predicates];
    for (rule, filling) in fillings(run).iter().enumerate() {
        let fillers = (0..run.network.schema.slots()).flat_map(|slot| filling.slot(slot));
        for number in fillers.filter_map(|&filler| predicate(filler)) {
            used[number][rule / settings.rules_per_digit] = true;
        }
    }
    Ok(used.iter().map(|digits| digits.iter().filter(|&&used| used).count()).collect())
}

/// Draws all pictures into `folder`, with images of `digits` (say, the test images).
pub fn draw(run: &DigitsRun, digits: &Digits, confusion: Option<&Confusion>, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| Error::file(folder, error))?;
    write(folder, "rules.svg", &rules(run))?;
    if let Some(confusion) = confusion {
        write(folder, "confusion.svg", &matrix(confusion))?;
    }
    let reuse = reuse(run)?;
    let mut order: Vec<usize> = (0..reuse.len()).collect();
    order.sort_by_key(|&predicate| std::cmp::Reverse(reuse[predicate]));
    let shown = Shown::new(run, digits)?;
    order.retain(|&predicate| (0..shown.images.len()).any(|place| !shown.links(place, predicate).is_empty()));
    for &predicate in order.iter().take(4) {
        write(folder, &format!("links-{}.svg", predicate + 1), &links(&shown, digits, predicate))?;
    }
    Ok(())
}

fn write(folder: &Path, name: &str, picture: &Picture) -> Result<()> {
    glidr::internals::util::atomic_file::write(&folder.join(name), picture.text())
}

/// An SVG in the making.
struct Picture {
    width: usize,
    height: usize,
    body: String,
    /// What lies above all else.
    above: String,
}

impl Picture {
    fn new(width: usize, height: usize) -> Self {
        Picture { width, height, body: String::new(), above: String::new() }
    }

    fn add(&mut self, element: &str) {
        self.body += element;
        self.body.push('\n');
    }

    fn label(&mut self, x: f32, y: f32, size: usize, colour: &str, text: &str) {
        self.add(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" fill=\"{colour}\" text-anchor=\"middle\">{text}</text>"
        ));
    }

    /// An arrow, a little to its left so that one in the other direction fits beside it, and its names, three a line.
    fn arrow(&mut self, from: (f32, f32), to: (f32, f32), names: &[String]) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let (along, across) = ((dx / dx.hypot(dy), dy / dx.hypot(dy)), 4.0);
        let at = |share: f32, past: f32| {
            (
                from.0 + share * dx + past * along.0 + across * along.1,
                from.1 + share * dy + past * along.1 - across * along.0,
            )
        };
        let ((x1, y1), (x2, y2)) = (at(0.0, 18.0), at(1.0, -20.0));
        self.add(&format!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"#f58518\" stroke-width=\"1.5\" \
             marker-end=\"url(#end)\"/>"
        ));
        let (x, y) = at(0.33, 0.0);
        let lines: Vec<String> = names.chunks(3).map(|some| some.join(" ")).collect();
        for (number, line) in lines.iter().enumerate() {
            let y = y + 4.0 + 11.0 * (number as f32 - (lines.len() - 1) as f32 / 2.0);
            self.above += &format!(
                "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"11\" text-anchor=\"middle\" fill=\"#1f4e79\" stroke=\"#fff\" \
                 stroke-width=\"3\" paint-order=\"stroke\">{line}</text>\n"
            );
        }
    }

    fn text(&self) -> String {
        let (width, height) = (self.width, self.height);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"sans-serif\">\n<defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"7\" \
             refY=\"4\" markerWidth=\"5\" markerHeight=\"5\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" \
             fill=\"#f58518\"/></marker></defs>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n{}{}</svg>\n",
            self.body, self.above
        )
    }
}

/// The first image of every digit, and what all predicates link there.
struct Shown {
    images: Vec<usize>,
    predicates: usize,
    links: Vec<f32>,
}

impl Shown {
    fn new(run: &DigitsRun, digits: &Digits) -> Result<Self> {
        let first = |digit| digits.labels.iter().position(|&label| usize::from(label) == digit);
        let (images, device): (Vec<usize>, _) = ((0..DIGITS).filter_map(first).collect(), Device::flex());
        let leaves = run.parameters.leaves(&device, false);
        let facts = run.network.facts(&leaves, &run.network.patches(digits, &images, &device)?)?;
        Ok(Shown { images, predicates: run.network.settings.predicates, links: numbers(&facts.links)? })
    }

    /// The pairs of patches that a predicate links on one of the images, strongest first, then nearest.
    fn links(&self, place: usize, predicate: usize) -> Vec<(f32, usize, usize)> {
        let square = PATCHES * PATCHES;
        let found = &self.links[(place * self.predicates + predicate) * square..][..square];
        let pairs = found.iter().zip(0..).filter(|(link, _)| **link > 0.0);
        let mut links: Vec<_> = pairs.map(|(&link, pair)| (link, pair / PATCHES, pair % PATCHES)).collect();
        let apart = |&(_, a, b): &(f32, usize, usize)| {
            (a / GRID).abs_diff(b / GRID).pow(2) + (a % GRID).abs_diff(b % GRID).pow(2)
        };
        links.sort_by(|a, b| b.0.total_cmp(&a.0).then(apart(a).cmp(&apart(b))));
        links
    }
}

/// The strongest links of one predicate; of patches that look the same, the nearest.
fn links(shown: &Shown, digits: &Digits, predicate: usize) -> Picture {
    let side = SIDE * ZOOM;
    let mut picture = Picture::new(5 * (side + 10) + 10, 2 * (side + 30) + 10);
    for (place, &number) in shown.images.iter().enumerate() {
        let (left, top) = (10 + (place % 5) * (side + 10), 30 + (place / 5) * (side + 30));
        picture.add(&format!(
            "<rect x=\"{left}\" y=\"{top}\" width=\"{side}\" height=\"{side}\" fill=\"#000\"/>"
        ));
        for (pixel, &light) in digits.image(number).iter().enumerate().filter(|(_, light)| **light > 40) {
            let (x, y) = (left + pixel % SIDE * ZOOM, top + pixel / SIDE * ZOOM);
            let light = light / 2;
            picture.add(&format!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{ZOOM}\" height=\"{ZOOM}\" fill=\"rgb({light},{light},{light})\"/>"
            ));
        }
        let mut links = shown.links(place, predicate);
        let text = format!("{} links", links.len());
        // Patches that look the same have links of the very same strength.
        links.dedup_by_key(|link| link.0);
        picture.label((left + side / 2) as f32, top as f32 - 6.0, 14, "#333", &text);
        let centre = |patch: usize| {
            let middle = |along: usize| along * PATCH * ZOOM + PATCH * ZOOM / 2;
            (left + middle(patch % GRID), top + middle(patch / GRID))
        };
        for &(_, from, to) in links.iter().take(ARROWS) {
            let ((x1, y1), (x2, y2)) = (centre(from), centre(to));
            picture.add(&format!(
                "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"#f58518\" stroke-width=\"2\" \
                 marker-end=\"url(#end)\"/>"
            ));
        }
    }
    picture
}

/// The first rule of every digit: its variables in a ring, an arrow for each direction of a slot, named by the
/// predicates of which one must hold.
fn rules(run: &DigitsRun) -> Picture {
    let (schema, size) = (run.network.schema, 300);
    let each = run.network.settings.rules_per_digit;
    let mut picture = Picture::new(5 * size, 2 * size + 10);
    for (digit, filling) in fillings(run).iter().step_by(each).enumerate() {
        let (middle_x, middle_y) = ((digit % 5 * size + 150) as f32, (digit / 5 * size + 165) as f32);
        picture.label(middle_x, middle_y - 137.0, 18, "#000", &format!("digit {digit}"));
        let place = |variable: usize| {
            let angle = std::f32::consts::TAU * (variable as f32 + 0.5) / schema.variables as f32;
            (middle_x - 118.0 * angle.cos(), middle_y - 118.0 * angle.sin())
        };
        for (slot, (i, j)) in schema.pairs().enumerate() {
            for (from, to, direct) in [(i, j, true), (j, i, false)] {
                let of_this = |filler: &&Filler| matches!(filler, Filler::Direct(_)) == direct;
                let some = filling.slot(slot).iter().filter(of_this).filter_map(|&filler| predicate(filler));
                let names: Vec<String> = some.map(|predicate| format!("p{}", predicate + 1)).collect();
                if !names.is_empty() {
                    picture.arrow(place(from), place(to), &names);
                }
            }
        }
        for variable in 0..schema.variables {
            let (x, y) = place(variable);
            let own: Vec<String> = filling
                .own_slot(variable)
                .iter()
                .map(|property| format!("q{}", property.index() + 1))
                .collect();
            picture.add(&format!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"17\" fill=\"#eee\" stroke=\"#555\"/>"
            ));
            picture.label(x, y + 4.0, 12, "#000", &format!("Z{}", variable + 1));
            let below = if y < middle_y { -23.0 } else { 31.0 };
            picture.label(x, y + below, 11, "#555", &own.join(" or "));
        }
    }
    picture
}

/// Rows: the digit shown; columns: the answer. Darker is more.
fn matrix(confusion: &Confusion) -> Picture {
    let cell = 44;
    let mut picture = Picture::new(11 * cell + 20, 12 * cell);
    let title = format!("rows: digit shown, columns: answer. Macro F1 {:.3}", confusion.macro_f1());
    picture.label(270.0, 22.0, 15, "#000", &title);
    for shown in 0..DIGITS {
        let total: usize = confusion.counts[shown].iter().sum();
        let edge = ((shown + 1) * cell + cell / 2) as f32;
        picture.label(24.0, edge + 27.0, 15, "#000", &shown.to_string());
        picture.label(edge, 58.0, 15, "#000", &shown.to_string());
        for answer in 0..DIGITS {
            let (x, y) = ((answer + 1) * cell, (shown + 1) * cell + 22);
            let count = confusion.counts[shown][answer];
            let share = count as f32 / total.max(1) as f32;
            picture.add(&format!(
                "<rect x=\"{x}\" y=\"{y}\" width=\"{cell}\" height=\"{cell}\" fill=\"#1f4e79\" fill-opacity=\"{share:.3}\" \
                 stroke=\"#ccc\"/>"
            ));
            let colour = if share > 0.5 { "#fff" } else { "#333" };
            picture.label((x + cell / 2) as f32, (y + 27) as f32, 12, colour, &count.to_string());
        }
    }
    picture
}
