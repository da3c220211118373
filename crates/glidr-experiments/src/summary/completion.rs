//! Filtered ranking: tables and figures, with what others have published.

use super::{Group, data_of, metrics, seconds, short, strings};
use crate::figure::{Figure, Point, Series};
use crate::plan::Scores;
use crate::published::{Published, published};
use crate::report::{Report, Table};

/// `tab:metrics`: for each data set our rows, the paper's beside them, and the others below.
pub fn completion(report: &mut Report, groups: &[Group]) -> anyhow::Result<()> {
    let published = published()?;
    for data in data_of(groups) {
        let paper = |scores: Scores| {
            published.iter().find(|p| p.data == data && p.scores.as_deref() == Some(scores.name()))
        };
        let three = |p: &Published| format!("{:.2} / {:.1} / {:.1}", p.mrr, p.hits1, p.hits10);
        let mut rows = Vec::new();
        for group in groups.iter().filter(|group| group.job.data == data) {
            let mut row = vec![group.job.row.clone(), group.job.scores.name().to_owned()];
            row.extend(metrics(group));
            row.push(paper(group.job.scores).map_or("–".into(), three));
            row.push(seconds(group));
            rows.push(row);
        }
        for other in published.iter().filter(|p| p.data == data && p.scores.is_none()) {
            rows.push(vec![
                other.method.clone(),
                other.kind.clone(),
                "–".into(),
                format!("{:.3}", other.mrr),
                format!("{:.1}", other.hits1),
                "–".into(),
                format!("{:.1}", other.hits10),
                "–".into(),
                "–".into(),
            ]);
        }
        report.tables.push(Table {
            title: data.to_owned(),
            header: strings(&[
                "row or method",
                "scores",
                "seeds",
                "MRR",
                "Hits@1",
                "Hits@3",
                "Hits@10",
                "paper: MRR / Hits@1 / Hits@10",
                "processor s a seed",
            ]),
            left: 2,
            rows,
        });
        let ours = groups.iter().filter(|group| group.job.data == data).map(|group| {
            let spread = group.spread(|g| g.mrr);
            (
                0,
                format!("glidr, {}, {}", group.job.row, group.job.scores.name()),
                spread.mean,
                spread.deviation,
            )
        });
        let theirs = published.iter().filter(|p| p.data == data).map(|p| match &p.scores {
            Some(scores) => (1, format!("GLIDR as published, {scores}"), p.mrr, 0.0),
            None => (2, p.method.clone(), p.mrr, 0.0),
        });
        let mut bars: Vec<(usize, String, f64, f64)> = ours.chain(theirs).collect();
        bars.sort_by(|a, b| a.2.total_cmp(&b.2));
        let names = ["glidr", "the paper", "others, as published"];
        let series = names.iter().enumerate().map(|(kind, name)| {
            let points = bars.iter().zip(1u32..).filter(|(bar, _)| bar.0 == kind);
            let points = points.map(|((_, _, mrr, error), place)| Point {
                x: *mrr,
                y: f64::from(place),
                error: *error,
                label: String::new(),
            });
            Series { name: (*name).to_owned(), points: points.collect(), line: false }
        });
        let figure = Figure {
            title: format!("MRR on the test split of {data}"),
            x: "MRR (mean ± standard deviation over seeds)".into(),
            series: series.collect(),
            y_words: bars.iter().map(|bar| bar.1.clone()).collect(),
            ..Figure::default()
        };
        report.figures.push((format!("completion-{}.svg", short(data)), figure.svg()));
    }
    report.notes.push(
        "the paper's MRR and Hits@1 cannot come from one set of ranks (docs/paper.md), so its columns do not \
         compare with ours one by one; numbers of other methods are as published, on their own splits and tie rules"
            .into(),
    );
    Ok(())
}
