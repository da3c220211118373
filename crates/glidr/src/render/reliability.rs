//! A reliability diagram: what probabilities promised, and what was true.

use std::fmt::Write;

use crate::evaluate::Reliability;

/// The side of the square.
const SIDE: f64 = 320.0;
/// The space around it.
const SPACE: f64 = 60.0;

/// A picture of the bins of probabilities: each is a dot at its mean probability and the share that is true, the larger
/// the more answers it has. Where all are on the diagonal, probabilities hold.
///
/// ```
/// use glidr::internals::evaluate::{Bin, Reliability};
/// use glidr::internals::render::reliability_diagram;
/// let bins = vec![Bin { answers: 50.0, probability: 0.8, share: 0.75 }, Bin::default()];
/// let svg = reliability_diagram(&Reliability { bins, ..Reliability::default() });
/// assert!(svg.starts_with("<svg") && svg.matches("<circle").count() == 1);
/// ```
pub fn reliability_diagram(reliability: &Reliability) -> String {
    let all = SIDE + 2.0 * SPACE;
    let (x, y) = (|share: f64| SPACE + SIDE * share, |share: f64| SPACE + SIDE * (1.0 - share));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all}\" height=\"{all}\" viewBox=\"0 0 {all} {all}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{all}\" height=\"{all}\" fill=\"white\"/>\n\
         <rect x=\"{SPACE}\" y=\"{SPACE}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"none\" stroke=\"#999\"/>\n\
         <line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"#999\" stroke-dasharray=\"4\"/>\n",
        x(0.0),
        y(0.0),
        x(1.0),
        y(1.0)
    );
    let mut text = |x: f64, y: f64, anchor: &str, words: &str| {
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{words}</text>");
    };
    for tenth in [0.0, 0.5, 1.0] {
        text(x(tenth), y(0.0) + 18.0, "middle", &format!("{tenth}"));
        text(x(0.0) - 8.0, y(tenth) + 4.0, "end", &format!("{tenth}"));
    }
    text(x(0.5), y(0.0) + 40.0, "middle", "probability");
    text(x(0.0), SPACE - 12.0, "start", "share that is true");
    let error = format!("calibration error {:.3}", reliability.calibration_error);
    text(x(1.0), SPACE - 12.0, "end", &error);
    let most = reliability.bins.iter().skip(1).map(|bin| bin.answers).fold(1.0, f64::max);
    for bin in reliability.bins.iter().filter(|bin| bin.answers > 0.0) {
        let radius = 3.0 + 9.0 * (bin.answers / most).min(1.0).sqrt();
        let _ = writeln!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\" fill=\"#2b6cb0\" fill-opacity=\"0.7\">\
             <title>{:.0} answers</title></circle>",
            x(bin.probability),
            y(bin.share),
            bin.answers
        );
    }
    svg + "</svg>\n"
}
