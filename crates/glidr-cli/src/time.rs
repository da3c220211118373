//! Times and shares as people write them.

use std::time::Duration;

/// A time such as `90`, `90s`, `1.5m`, `2h`; plain numbers are seconds.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.trim().char_indices().last() {
        Some((at, 's')) => (&text.trim()[..at], 1.0),
        Some((at, 'm')) => (&text.trim()[..at], 60.0),
        Some((at, 'h')) => (&text.trim()[..at], 3600.0),
        _ => (text.trim(), 1.0),
    };
    let seconds: Option<f64> = number.parse().ok().map(|number: f64| number * unit);
    let time = seconds.filter(|&seconds| seconds > 0.0).and_then(|s| Duration::try_from_secs_f64(s).ok());
    time.ok_or_else(|| "a time is a number above 0 with s, m or h, such as 90s, 10m or 2h".into())
}

/// A share of a whole, from 0 to 1.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a share is a number from 0 to 1".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_of_seconds_minutes_or_hours() {
        let seconds = |text: &str| parse_time(text).map(|time| time.as_secs_f64());
        assert_eq!(seconds("90"), Ok(90.0));
        assert_eq!(seconds("1.5m"), Ok(90.0));
        assert_eq!(seconds("2h"), Ok(7200.0));
        for bad in ["", "s", "-1", "0", "nan", "inf", "10 weeks", "1e30h"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
        assert!(seconds("9223372036854775807").is_ok(), "a very long time is no limit");
    }

    #[test]
    fn a_share_is_a_number_from_0_to_1() {
        assert_eq!(parse_share("0.25"), Ok(0.25));
        for bad in ["nan", "1.5", "-0.1", "half", "inf"] {
            assert!(parse_share(bad).is_err(), "{bad}");
        }
    }
}
