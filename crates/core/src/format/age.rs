//! Ages in human-readable form.

use jiff::Timestamp;

/// Formats the time between two moments as kubectl does: the two largest units while they matter (`5m`, `3h20m`,
/// `45d`).
///
/// Future moments (a skewed clock) count as now.
pub fn short_age(moment: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(moment.as_second()).max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let pair = |large: i64, unit: char, small: i64, small_unit: char| {
        if small == 0 { format!("{large}{unit}") } else { format!("{large}{unit}{small}{small_unit}") }
    };
    if seconds < 120 {
        format!("{seconds}s")
    } else if minutes < 10 {
        pair(minutes, 'm', seconds % 60, 's')
    } else if hours < 3 {
        format!("{minutes}m")
    } else if hours < 8 {
        pair(hours, 'h', minutes % 60, 'm')
    } else if hours < 48 {
        format!("{hours}h")
    } else if days < 8 {
        pair(days, 'd', hours % 24, 'h')
    } else if days < 730 {
        format!("{days}d")
    } else {
        pair(days / 365, 'y', days % 365, 'd')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_read_as_kubectl_writes_them() {
        let now: Timestamp = "2026-01-10T00:00:00Z".parse().unwrap();
        let cases = [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (190, "3m10s"),
            (600, "10m"),
            (7200, "120m"),
            (3 * 3600, "3h"),
            (4 * 3600 + 1200, "4h20m"),
            (9 * 3600, "9h"),
            (2 * 86_400, "2d"),
            (3 * 86_400 + 7200, "3d2h"),
            (45 * 86_400, "45d"),
            (800 * 86_400, "2y70d"),
            (-5, "0s"),
        ];
        for (seconds, expected) in cases {
            let moment = Timestamp::from_second(now.as_second() - seconds).unwrap();
            assert_eq!(short_age(moment, now), expected, "{seconds}");
        }
    }
}
