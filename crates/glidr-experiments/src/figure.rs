//! Figures as SVG: lines with error bars, axes with units, a legend.

use std::sync::Arc;

use kuva::prelude::{Layout, LinePlot, LineStyle, MarkerShape, Plot, ScatterPlot, render_to_svg};
use kuva::render::layout::TickFormat;

/// Colours that can be told apart, also by most who see colours otherwise (Okabe and Ito).
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

/// How points and lines look while colours last, and how once they begin again.
const LOOKS: [(MarkerShape, LineStyle); 3] = [
    (MarkerShape::Circle, LineStyle::Solid),
    (MarkerShape::Square, LineStyle::Dashed),
    (MarkerShape::Triangle, LineStyle::Dotted),
];

/// One point: where, and the half-length of its error bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub error: f64,
    /// A word beside it; empty means none.
    pub label: String,
}

/// A line of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub name: String,
    pub points: Vec<Point>,
    /// Whether points are joined by a line.
    pub line: bool,
}

/// A figure.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    pub title: String,
    pub x: String,
    pub y: String,
    pub log_x: bool,
    pub log_y: bool,
    /// Words in place of numbers: at 1, 2, … of the x axis, from the left.
    pub x_words: Vec<String>,
    /// At 1, 2, … of the y axis, from below; error bars then lie flat.
    pub y_words: Vec<String>,
    /// The least and the most of the y axis, where it is not left to the points.
    pub y_range: Option<(f64, f64)>,
    pub series: Vec<Series>,
}

impl Figure {
    /// The figure as SVG.
    pub fn svg(&self) -> String {
        let mut plots: Vec<Plot> = Vec::new();
        let series = self.with_words_gathered();
        for (number, series) in series.iter().enumerate().filter(|(_, series)| !series.points.is_empty()) {
            let colour = COLOURS[number % COLOURS.len()];
            let (mark, style) = LOOKS[number / COLOURS.len() % LOOKS.len()].clone();
            let points: Vec<(f64, f64)> = series.points.iter().map(|point| (point.x, point.y)).collect();
            if series.line {
                let line = LinePlot::new().with_data(points.clone()).with_color(colour);
                plots.push(line.with_line_style(style).into());
            }
            let mut marks = ScatterPlot::new()
                .with_data(points)
                .with_color(colour)
                .with_marker(mark)
                .with_size(4.0)
                .with_legend(&series.name);
            if series.points.iter().any(|point| point.error > 0.0) {
                let errors = series.points.iter().map(|point| point.error);
                marks =
                    if self.y_words.is_empty() { marks.with_y_err(errors) } else { marks.with_x_err(errors) };
            }
            if series.points.iter().any(|point| !point.label.is_empty()) {
                marks = marks.with_labels(series.points.iter().map(|point| point.label.clone()));
            }
            plots.push(marks.into());
        }
        if plots.is_empty() {
            return String::new();
        }
        // Words beside points need room.
        let points = self.series.iter().flat_map(|series| &series.points);
        let has_words = points.clone().any(|point| !point.label.is_empty());
        let (width, height) = if has_words { (1100.0, 680.0) } else { (720.0, 440.0) };
        let mut layout = Layout::auto_from_plots(&plots)
            .with_width(width)
            .with_height(height)
            .with_title(&self.title)
            .with_x_label(&self.x)
            .with_y_label(&self.y);
        if !self.x_words.is_empty() {
            layout = layout.with_x_categories(self.x_words.clone());
            layout = layout.with_x_axis_min(0.5).with_x_axis_max(self.x_words.len() as f64 + 0.5);
        }
        if !self.y_words.is_empty() {
            let count = self.y_words.len() as f64;
            layout = layout.with_y_categories(self.y_words.clone()).with_height(130.0 + 24.0 * count);
            layout = layout.with_y_axis_min(0.5).with_y_axis_max(count + 0.5);
        }
        if self.log_x {
            layout = layout.with_log_x();
            layout.x_tick_format = TickFormat::Custom(Arc::new(short));
        }
        if self.log_y {
            layout = layout.with_log_y();
        }
        if has_words && self.log_x {
            let (least, most) = points.fold((f64::INFINITY, 0.0f64), |(a, b), p| (a.min(p.x), b.max(p.x)));
            layout = layout.with_x_axis_min(least / 1.5).with_x_axis_max(most * 2.0);
        }
        if let Some((least, most)) = self.y_range {
            layout = layout.with_y_axis_min(least).with_y_axis_max(most);
        }
        render_to_svg(plots, layout)
    }

    /// The series, where words of points that lie almost at one place stand there once, all of them.
    fn with_words_gathered(&self) -> Vec<Series> {
        let mut all = self.series.clone();
        let scale = |value: f64, log: bool| if log { value.ln() } else { value };
        let of = |point: &Point| (scale(point.x, self.log_x), scale(point.y, self.log_y));
        let places: Vec<(f64, f64)> =
            self.series.iter().flat_map(|series| series.points.iter().map(of)).collect();
        let width = |value: fn(&(f64, f64)) -> f64| {
            let (least, most) = places
                .iter()
                .map(value)
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
            most - least
        };
        let (wide, high) = (width(|place| place.0), width(|place| place.1));
        let mut points: Vec<&mut Point> = all.iter_mut().flat_map(|series| &mut series.points).collect();
        for second in 1..points.len() {
            let near = |first: &usize| {
                let (a, b) = (places[*first], places[second]);
                !points[*first].label.is_empty()
                    && (a.0 - b.0).abs() <= 0.05 * wide
                    && (a.1 - b.1).abs() <= 0.02 * high
            };
            if let Some(first) = (0..second).find(near) {
                let word = std::mem::take(&mut points[second].label);
                if !word.is_empty() && points[first].label.split("; ").all(|other| other != word) {
                    points[first].label += &format!("; {word}");
                }
            }
        }
        all
    }
}

/// A number in few letters, so that those of neighbours leave each other room.
fn short(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{}M", v / 1e6),
        v if v >= 1e3 => format!("{}k", v / 1e3),
        v => v.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_its_title_axes_legend_and_error_bars() {
        let point = |x: f64, y: f64| Point { x, y, error: 2.0, label: String::new() };
        let series =
            Series { name: "Family".into(), points: vec![point(0.0, 50.0), point(1.0, 20.0)], line: true };
        let figure = Figure {
            title: "Hits@1 under noise".into(),
            x: "chance p".into(),
            y: "Hits@1 (%)".into(),
            y_range: Some((0.0, 100.0)),
            series: vec![series.clone()],
            ..Figure::default()
        };
        let svg = figure.svg();
        for part in ["<svg", "Hits@1 under noise", "chance p", "Hits@1 (%)", "Family"] {
            assert!(svg.contains(part), "{part} is missing");
        }
        let plain = |point: &Point| Point { error: 0.0, ..point.clone() };
        let without = Series { points: series.points.iter().map(plain).collect(), ..series };
        let bare = Figure { series: vec![without], ..figure }.svg();
        let drawn = |svg: &str| svg.matches('<').count();
        assert!(drawn(&svg) > drawn(&bare), "error bars add strokes");
    }

    #[test]
    fn the_eighth_line_has_the_first_colour_and_another_look() {
        let point = |x: f64| Point { x, y: x, error: 0.0, label: String::new() };
        let series = |n: usize| Series {
            name: format!("line {n}"),
            points: vec![point(n as f64), point(n as f64 + 1.0)],
            line: true,
        };
        let with = |count: usize| Figure { series: (0..count).map(series).collect(), ..Figure::default() };
        assert!(!with(7).svg().contains("stroke-dasharray"));
        assert!(with(8).svg().contains("stroke-dasharray"));
    }

    #[test]
    fn words_of_points_at_one_place_stand_there_once() {
        let point = |x: f64, y: f64, label: &str| Point { x, y, error: 0.0, label: label.into() };
        let series = |points: Vec<Point>| Series { name: String::new(), points, line: false };
        let figure = Figure {
            log_x: true,
            series: vec![
                series(vec![point(10.0, 0.5, "far"), point(100.0, 0.9, "here")]),
                series(vec![point(101.0, 0.901, "here"), point(102.0, 0.9, "there")]),
            ],
            ..Figure::default()
        };
        let words: Vec<Vec<String>> = figure
            .with_words_gathered()
            .into_iter()
            .map(|series| series.points.into_iter().map(|point| point.label).collect())
            .collect();
        assert_eq!(words, [["far", "here; there"], ["", ""]]);
    }

    #[test]
    fn thousands_and_millions_are_told_in_few_letters() {
        assert_eq!([0.1, 20.0, 50_000.0, 1_000_000.0].map(short), ["0.1", "20", "50k", "1M"]);
    }
}
