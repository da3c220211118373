//! Deskewing: the rows of a slanted image are moved sideways until its brightness has no slant.

use super::idx::{Digits, SIDE};

impl Digits {
    /// The same images, each deskewed.
    #[must_use]
    pub fn deskewed(mut self) -> Digits {
        self.pixels.chunks_exact_mut(SIDE * SIDE).for_each(deskew);
        self
    }
}

/// The mean row of an image's brightness, and its slant in columns per row.
///
/// ```text
/// slant = Σ b (row − r̄)(column − c̄) / Σ b (row − r̄)²,   b the brightness of a pixel
/// ```
fn slant(image: &[u8]) -> (f64, f64) {
    let pixels = || image.iter().enumerate().filter(|(_, bright)| **bright > 0);
    let at = |place: usize| ((place / SIDE) as f64, (place % SIDE) as f64);
    let (mut total, mut middle) = (0.0, (0.0, 0.0));
    for (place, &bright) in pixels() {
        let (row, column) = at(place);
        total += f64::from(bright);
        middle.0 += f64::from(bright) * row;
        middle.1 += f64::from(bright) * column;
    }
    // A dark image has no slant.
    let total = f64::max(total, 1.0);
    middle = (middle.0 / total, middle.1 / total);
    let (mut both, mut down) = (0.0, 0.0);
    for (place, &bright) in pixels() {
        let (row, column) = at(place);
        both += f64::from(bright) * (row - middle.0) * (column - middle.1);
        down += f64::from(bright) * (row - middle.0).powi(2);
    }
    (middle.0, if down > 0.0 { both / down } else { 0.0 })
}

/// Moves every row against the slant; between two pixels lies their weighted mean, what comes in is dark.
#[expect(clippy::cast_sign_loss, reason = "columns inside of the image and brightness are never below 0")]
fn deskew(image: &mut [u8]) {
    let (middle, slant) = slant(image);
    for (row, line) in image.chunks_exact_mut(SIDE).enumerate() {
        let from: Vec<f64> = line.iter().map(|&bright| f64::from(bright)).collect();
        let by = slant * (row as f64 - middle);
        let bright = |column: f64| {
            let inside = (0.0..SIDE as f64).contains(&column);
            if inside { from[column as usize] } else { 0.0 }
        };
        for (column, pixel) in line.iter_mut().enumerate() {
            let (left, share) = ((column as f64 + by).floor(), (column as f64 + by).rem_euclid(1.0));
            *pixel = ((1.0 - share) * bright(left) + share * bright(left + 1.0)).round() as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stroke two pixels wide through the middle, slanted by `slant` columns per row.
    #[expect(clippy::cast_sign_loss, reason = "columns lie inside of the image")]
    fn stroke(slant: f64) -> Vec<u8> {
        let mut image = vec![0; SIDE * SIDE];
        for row in 6..22 {
            let column = 13.0 + slant * (row as f64 - 13.5);
            for of in 0..3 {
                let cover = (1.0 - (column + 1.0 - (column.floor() + f64::from(of))).abs() / 2.0).max(0.0);
                image[row * SIDE + column.floor() as usize + of as usize] = (255.0 * cover) as u8;
            }
        }
        image
    }

    #[test]
    fn a_deskewed_stroke_has_no_slant_and_keeps_its_place_and_brightness() {
        for by in [-0.5, -0.2, 0.3, 0.6] {
            let image = stroke(by);
            assert!((slant(&image).1 - by).abs() < 0.05, "{by}: {:?}", slant(&image));
            let total = |image: &[u8]| image.iter().map(|&bright| f64::from(bright)).sum::<f64>();
            let mut deskewed = image.clone();
            deskew(&mut deskewed);
            assert!(slant(&deskewed).1.abs() < 0.03, "{by}: {:?}", slant(&deskewed));
            assert!((total(&deskewed) / total(&image) - 1.0).abs() < 0.02, "{by}");
            assert!((slant(&deskewed).0 - slant(&image).0).abs() < 0.1, "{by}");
        }
    }

    #[test]
    fn unslanted_and_dark_images_stay_as_they_are() {
        for image in [vec![0; SIDE * SIDE], [vec![0; 280], vec![9; 28], vec![0; 476]].concat(), stroke(0.0)] {
            let digits = Digits { pixels: image.clone(), labels: vec![1] };
            assert!(digits.deskewed().pixels == image);
        }
    }
}
