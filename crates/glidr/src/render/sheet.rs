//! Several rules on one page.

use super::Picture;
use super::drawing::Drawing;
use super::svg::{content, escaped, page, rectangle};

/// Pictures in a row.
const COLUMNS: usize = 3;
/// The widest that a picture is drawn.
const WIDEST: f64 = 420.0;
/// Space around each.
const SPACE: f64 = 12.0;
/// Space above each, for its number.
const ABOVE: f64 = 22.0;

/// A page with pictures in rows, each with its number. Wide ones are drawn smaller.
///
/// ```
/// use glidr::internals::graph::{Names, Predicate};
/// use glidr::internals::render::{Picture, sheet};
/// use glidr::internals::rule::{Atom, Literal, Rule, RuleNames, Term};
/// let predicates = Names::new(["wife", "husband"]);
/// let names = RuleNames { predicates: &predicates, properties: &Names::default(), entities: None };
/// let husband = Atom::Pair(Predicate(1), Term::Y, Term::X);
/// let picture = Picture::of(&Rule::new(Predicate(0), &[Literal::any_of(vec![husband])]), names);
/// let svg = sheet(&[picture.clone(), picture]);
/// assert_eq!(svg.matches("<circle").count(), 4);
/// ```
pub fn sheet(pictures: &[Picture]) -> String {
    let drawings: Vec<Drawing> = pictures.iter().map(Drawing::of).collect();
    let wide =
        drawings.iter().map(|drawing| drawing.area[2] - drawing.area[0]).fold(0.0, f64::max).min(WIDEST);
    let cell = wide + 2.0 * SPACE;
    let (mut text, mut top) = (String::new(), SPACE);
    for (row, shown) in pictures.chunks(COLUMNS).enumerate() {
        let drawings = &drawings[row * COLUMNS..];
        let high = drawings[..shown.len()].iter().map(height).fold(0.0, f64::max) + ABOVE + SPACE;
        for (column, (picture, drawing)) in shown.iter().zip(drawings).enumerate() {
            let left = SPACE + column as f64 * (cell + SPACE);
            let number = row * COLUMNS + column + 1;
            text += &rectangle("cell", [left, top, left + cell, top + high]);
            text += &format!(
                "  <text class=\"number\" x=\"{:.1}\" y=\"{:.1}\">{number}</text>\n",
                left + 16.0,
                top + 20.0
            );
            let middle = (left + cell / 2.0, f64::midpoint(top + ABOVE, top + high - SPACE));
            text += &placed(picture, drawing, middle);
        }
        top += high + SPACE;
    }
    let columns = pictures.len().clamp(1, COLUMNS) as f64;
    let style = "  <style>.cell { fill: #fff; stroke: #d5dbe5 } .number { fill: #888 }</style>\n";
    page("rules", [0.0, 0.0, SPACE + columns * (cell + SPACE), top], &(style.to_owned() + &text))
}

fn scale(drawing: &Drawing) -> f64 {
    (WIDEST / (drawing.area[2] - drawing.area[0])).min(1.0)
}

fn height(drawing: &Drawing) -> f64 {
    scale(drawing) * (drawing.area[3] - drawing.area[1])
}

/// A picture around a point.
fn placed(picture: &Picture, drawing: &Drawing, (x, y): (f64, f64)) -> String {
    let (scale, [left, top, right, bottom]) = (scale(drawing), drawing.area);
    let (dx, dy) = (x - scale * f64::midpoint(left, right), y - scale * f64::midpoint(top, bottom));
    format!(
        "  <g transform=\"translate({dx:.1} {dy:.1}) scale({scale:.3})\">\n  <title>{}</title>\n{}  </g>\n",
        escaped(&picture.text),
        content(picture, drawing)
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::hostile;
    use super::*;

    /// The numbers behind `name="` in all rectangles of cells.
    fn of_cells(svg: &str, name: &str) -> Vec<f64> {
        let cells = svg.lines().filter(|line| line.contains("class=\"cell\""));
        let number = |line: &str| line.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?.parse().ok();
        cells.map(|line| number(line).expect("a number")).collect()
    }

    #[test]
    fn pictures_stand_in_rows_within_the_page() {
        let svg = sheet(&vec![hostile(); 7]);
        assert_eq!(
            (svg.matches("<g ").count(), svg.matches(">confidence 0.750, support 3<").count()),
            (7, 7)
        );
        let (lefts, tops) = (of_cells(&svg, "x"), of_cells(&svg, "y"));
        assert_eq!(lefts[0], lefts[3]);
        assert!(lefts[0] < lefts[1] && tops[2] < tops[3] && tops[3] == tops[5], "{lefts:?} {tops:?}");
        let widths = of_cells(&svg, "width");
        assert!(lefts[0] + widths[0] < lefts[1], "cells stand apart");
        let page: f64 = svg
            .split("width=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next()?.parse().ok())
            .expect("a page");
        assert!(lefts[2] + widths[2] < page, "{page}");
    }
}
