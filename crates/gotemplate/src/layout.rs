//! Dates as text, by layouts that show the reference time `Mon Jan 2 15:04:05 MST 2006`.

use crate::text::decode_char;
use crate::time::{MONTHS, Time, WEEKDAYS, Zone, days_from_date, days_in_month, is_leap};

/// An element of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    LongMonth,
    Month,
    NumMonth,
    ZeroMonth,
    LongWeekday,
    Weekday,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    UpperPm,
    LowerPm,
    Zone,
    /// `-0700`, `Z07:00` and similar forms.
    Offset {
        form: OffsetForm,
        z_for_utc: bool,
    },
    /// `.000`
    Fraction {
        digits: usize,
        separator: u8,
    },
    /// `.999`, which is omitted when it is zero.
    TrimmedFraction {
        digits: usize,
        separator: u8,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OffsetForm {
    Hours,
    Minutes,
    ColonMinutes,
    Seconds,
    ColonSeconds,
}

/// Texts of a layout with their elements; of two with the same beginning the longer one comes first.
const ELEMENTS: &[(&str, Element)] = &[
    ("January", Element::LongMonth),
    ("Monday", Element::LongWeekday),
    ("MST", Element::Zone),
    ("01", Element::ZeroMonth),
    ("02", Element::ZeroDay),
    ("03", Element::ZeroHour12),
    ("04", Element::ZeroMinute),
    ("05", Element::ZeroSecond),
    ("06", Element::Year),
    ("002", Element::ZeroYearDay),
    ("15", Element::Hour),
    ("1", Element::NumMonth),
    ("2006", Element::LongYear),
    ("2", Element::Day),
    ("__2", Element::UnderYearDay),
    ("3", Element::Hour12),
    ("4", Element::Minute),
    ("5", Element::Second),
    ("PM", Element::UpperPm),
    ("pm", Element::LowerPm),
    ("-070000", Element::Offset { form: OffsetForm::Seconds, z_for_utc: false }),
    ("-07:00:00", Element::Offset { form: OffsetForm::ColonSeconds, z_for_utc: false }),
    ("-0700", Element::Offset { form: OffsetForm::Minutes, z_for_utc: false }),
    ("-07:00", Element::Offset { form: OffsetForm::ColonMinutes, z_for_utc: false }),
    ("-07", Element::Offset { form: OffsetForm::Hours, z_for_utc: false }),
    ("Z070000", Element::Offset { form: OffsetForm::Seconds, z_for_utc: true }),
    ("Z07:00:00", Element::Offset { form: OffsetForm::ColonSeconds, z_for_utc: true }),
    ("Z0700", Element::Offset { form: OffsetForm::Minutes, z_for_utc: true }),
    ("Z07:00", Element::Offset { form: OffsetForm::ColonMinutes, z_for_utc: true }),
    ("Z07", Element::Offset { form: OffsetForm::Hours, z_for_utc: true }),
];

/// Finds the next element: the text before it, and the element with its length, or only text.
fn next_element(layout: &[u8]) -> (&[u8], Option<(Element, usize)>) {
    for at in 0..layout.len() {
        let rest = layout.get(at..).unwrap_or_default();
        if let Some((element, length, skipped)) = element_at(rest) {
            return (layout.get(..at + skipped).unwrap_or_default(), Some((element, length)));
        }
    }
    (layout, None)
}

/// Returns the element at the start of a text, its length, and the number of bytes before it that are plain text.
fn element_at(rest: &[u8]) -> Option<(Element, usize, usize)> {
    // A lower-case letter after the short name makes it part of a word.
    let is_word = |length: usize| rest.get(length).is_some_and(u8::is_ascii_lowercase);
    if let Some((text, element)) = ELEMENTS.iter().find(|(text, _)| rest.starts_with(text.as_bytes())) {
        return Some((*element, text.len(), 0));
    }
    if rest.starts_with(b"Jan") && !is_word(3) {
        return Some((Element::Month, 3, 0));
    }
    if rest.starts_with(b"Mon") && !is_word(3) {
        return Some((Element::Weekday, 3, 0));
    }
    if rest.starts_with(b"_2") {
        // `_2006` is a `_` before a year, not a padded day.
        return Some(if rest.starts_with(b"_2006") { (Element::LongYear, 4, 1) } else { (Element::UnderDay, 2, 0) });
    }
    if let [separator @ (b'.' | b','), digit @ (b'0' | b'9'), ..] = rest {
        let digits = rest.iter().skip(1).take_while(|byte| *byte == digit).count();
        // More digits make it a plain number.
        if !rest.get(digits + 1).is_some_and(u8::is_ascii_digit) {
            let separator = *separator;
            let element = match digit {
                b'0' => Element::Fraction { digits, separator },
                _ => Element::TrimmedFraction { digits, separator },
            };
            return Some((element, digits + 1, 0));
        }
    }
    None
}

/// Writes a time by a layout.
pub(crate) fn format(time: &Time, layout: &[u8]) -> String {
    let clock = time.clock();
    let month = clock.month.checked_sub(1).and_then(|index| MONTHS.get(index as usize)).copied().unwrap_or_default();
    let weekday = WEEKDAYS.get(clock.weekday as usize).copied().unwrap_or_default();
    let short = |name: &str| name.chars().take(3).collect::<String>();
    // The twelve-hour clock calls midnight and noon 12.
    let hour12 = (clock.hour + 11) % 12 + 1;
    let mut out = String::new();
    let mut rest = layout;
    while !rest.is_empty() {
        let (prefix, element) = next_element(rest);
        out.push_str(&crate::text::lossy(prefix));
        let Some((element, length)) = element else { break };
        rest = rest.get(prefix.len() + length..).unwrap_or_default();
        let text = match element {
            Element::LongMonth => month.to_owned(),
            Element::Month => short(month),
            Element::NumMonth => clock.month.to_string(),
            Element::ZeroMonth => format!("{:02}", clock.month),
            Element::LongWeekday => weekday.to_owned(),
            Element::Weekday => short(weekday),
            Element::Day => clock.day.to_string(),
            Element::UnderDay => format!("{:2}", clock.day),
            Element::ZeroDay => format!("{:02}", clock.day),
            Element::UnderYearDay => format!("{:3}", clock.year_day),
            Element::ZeroYearDay => format!("{:03}", clock.year_day),
            Element::Hour => format!("{:02}", clock.hour),
            Element::Hour12 => hour12.to_string(),
            Element::ZeroHour12 => format!("{hour12:02}"),
            Element::Minute => clock.minute.to_string(),
            Element::ZeroMinute => format!("{:02}", clock.minute),
            Element::Second => clock.second.to_string(),
            Element::ZeroSecond => format!("{:02}", clock.second),
            Element::LongYear if clock.year < 0 => format!("-{:04}", clock.year.unsigned_abs()),
            Element::LongYear => format!("{:04}", clock.year),
            Element::Year => format!("{:02}", clock.year.unsigned_abs() % 100),
            Element::UpperPm => if clock.hour >= 12 { "PM" } else { "AM" }.to_owned(),
            Element::LowerPm => if clock.hour >= 12 { "pm" } else { "am" }.to_owned(),
            Element::Zone if !time.zone.name.is_empty() => time.zone.name.clone(),
            // Go prints the offset of a zone without a name.
            Element::Zone => offset_text(time.zone.offset, OffsetForm::Minutes),
            Element::Offset { z_for_utc: true, .. } if time.zone.offset == 0 => "Z".to_owned(),
            Element::Offset { form, .. } => offset_text(time.zone.offset, form),
            Element::Fraction { digits, separator } => fraction(time.nanoseconds, digits, separator),
            Element::TrimmedFraction { .. } if time.nanoseconds == 0 => String::new(),
            Element::TrimmedFraction { digits, separator } => {
                let text = fraction(time.nanoseconds, digits, separator);
                text.trim_end_matches('0').trim_end_matches(char::from(separator)).to_owned()
            }
        };
        out.push_str(&text);
    }
    out
}

fn fraction(nanoseconds: u32, digits: usize, separator: u8) -> String {
    let all = format!("{nanoseconds:09}");
    format!("{}{}", char::from(separator), all.get(..digits).unwrap_or(&all))
}

fn offset_text(offset: i32, form: OffsetForm) -> String {
    let minutes = offset / 60;
    // As in Go, the sign is that of the whole minutes.
    let sign = if minutes < 0 { '-' } else { '+' };
    let (hours, rest) = (minutes.unsigned_abs() / 60, minutes.unsigned_abs() % 60);
    let seconds = offset.unsigned_abs() % 60;
    match form {
        OffsetForm::Hours => format!("{sign}{hours:02}"),
        OffsetForm::Minutes => format!("{sign}{hours:02}{rest:02}"),
        OffsetForm::ColonMinutes => format!("{sign}{hours:02}:{rest:02}"),
        OffsetForm::Seconds => format!("{sign}{hours:02}{rest:02}{seconds:02}"),
        OffsetForm::ColonSeconds => format!("{sign}{hours:02}:{rest:02}:{seconds:02}"),
    }
}

/// Quotes a text as errors of Go's `time` do.
pub(crate) fn quote(text: &[u8]) -> String {
    let mut out = String::from("\"");
    let mut rest = text;
    while let Some((character, width)) = decode_char(rest) {
        if character < ' ' || !character.is_ascii() {
            for byte in rest.iter().take(width) {
                out.push_str(&format!("\\x{byte:02x}"));
            }
        } else {
            if matches!(character, '"' | '\\') {
                out.push('\\');
            }
            out.push(character);
        }
        rest = rest.get(width..).unwrap_or_default();
    }
    out.push('"');
    out
}

/// Why one element cannot be read.
enum ElementProblem {
    /// The text does not match the element.
    Bad,
    /// The text matches, but its value is out of range.
    OutOfRange(&'static str),
}

type LayoutResult<T> = Result<T, ElementProblem>;

struct DateReader<'v> {
    rest: &'v [u8],
}

impl<'v> DateReader<'v> {
    fn take(&mut self, count: usize) -> LayoutResult<&'v [u8]> {
        let (part, rest) = self.rest.split_at_checked(count).ok_or(ElementProblem::Bad)?;
        self.rest = rest;
        Ok(part)
    }

    fn digit_at(&self, index: usize) -> Option<u32> {
        self.rest.get(index).filter(|byte| byte.is_ascii_digit()).map(|byte| u32::from(byte - b'0'))
    }

    /// Reads one digit or two.
    fn number(&mut self, fixed: bool) -> LayoutResult<u32> {
        let first = self.digit_at(0).ok_or(ElementProblem::Bad)?;
        match self.digit_at(1) {
            Some(second) => {
                self.take(2)?;
                Ok(first * 10 + second)
            }
            None if fixed => Err(ElementProblem::Bad),
            None => {
                self.take(1)?;
                Ok(first)
            }
        }
    }

    fn year_day(&mut self, fixed: bool) -> LayoutResult<u32> {
        let count = (0..3).take_while(|index| self.digit_at(*index).is_some()).count();
        if count == 0 || fixed && count != 3 {
            return Err(ElementProblem::Bad);
        }
        Ok(digits(self.take(count)?))
    }

    fn name(&mut self, names: &[&str], length: Option<usize>) -> LayoutResult<u32> {
        for (index, name) in names.iter().enumerate() {
            let name = name.get(..length.unwrap_or(name.len())).unwrap_or(name);
            let matches = self.rest.get(..name.len()).is_some_and(|text| text.eq_ignore_ascii_case(name.as_bytes()));
            if matches {
                self.take(name.len())?;
                return u32::try_from(index).map_err(|_| ElementProblem::Bad);
            }
        }
        Err(ElementProblem::Bad)
    }

    /// Reads a separator and digits; those beyond nanoseconds are dropped.
    fn nanoseconds(&mut self, length: usize) -> LayoutResult<u32> {
        let text = self.take(length)?;
        let (separator, text) = text.split_first().ok_or(ElementProblem::Bad)?;
        if !matches!(separator, b'.' | b',') || !text.iter().all(u8::is_ascii_digit) {
            return Err(ElementProblem::Bad);
        }
        let kept = text.get(..text.len().min(9)).unwrap_or_default();
        Ok(digits(kept) * 10u32.pow(u32::try_from(9 - kept.len()).unwrap_or(0)))
    }

    fn offset(&mut self, form: OffsetForm) -> LayoutResult<i32> {
        let colon = |text: &[u8], at: usize| text.get(at) == Some(&b':');
        let length = match form {
            OffsetForm::Hours => 3,
            OffsetForm::Minutes => 5,
            OffsetForm::ColonMinutes => 6,
            OffsetForm::Seconds => 7,
            OffsetForm::ColonSeconds => 9,
        };
        let text = self.take(length)?;
        let two = |at: usize| {
            let text = text.get(at..at + 2).filter(|text| text.iter().all(u8::is_ascii_digit));
            text.map(digits).ok_or(ElementProblem::Bad)
        };
        let (hours, minutes, seconds) = match form {
            OffsetForm::Hours => (two(1)?, 0, 0),
            OffsetForm::Minutes => (two(1)?, two(3)?, 0),
            OffsetForm::ColonMinutes if colon(text, 3) => (two(1)?, two(4)?, 0),
            OffsetForm::Seconds => (two(1)?, two(3)?, two(5)?),
            OffsetForm::ColonSeconds if colon(text, 3) && colon(text, 6) => (two(1)?, two(4)?, two(7)?),
            _ => return Err(ElementProblem::Bad),
        };
        // The bounds are inclusive, as in Go, because people write offsets of 24 hours or 60 minutes.
        for (value, most, name) in [
            (hours, 24, "time zone offset hour"),
            (minutes, 60, "time zone offset minute"),
            (seconds, 60, "time zone offset second"),
        ] {
            if value > most {
                return Err(ElementProblem::OutOfRange(name));
            }
        }
        let offset = i32::try_from((hours * 60 + minutes) * 60 + seconds).map_err(|_| ElementProblem::Bad)?;
        match text.first() {
            Some(b'+') => Ok(offset),
            Some(b'-') => Ok(-offset),
            _ => Err(ElementProblem::Bad),
        }
    }

    /// Returns the length of a zone's abbreviation.
    fn zone_length(&self) -> Option<usize> {
        let text = self.rest;
        if text.len() < 3 {
            return None;
        }
        // The only abbreviations with a lower-case letter.
        if text.starts_with(b"ChST") || text.starts_with(b"MeST") {
            return Some(4);
        }
        let signed = |text: &[u8]| -> usize {
            let digits_count = text.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
            // Nine digits fit in the number; longer ones are out of range anyway.
            let value = text.get(1..1 + digits_count).map(|text| digits(text.get(..text.len().min(9)).unwrap_or(text)));
            match (text.first(), value) {
                (Some(b'+' | b'-'), Some(0..=23)) if digits_count > 0 => 1 + digits_count,
                _ => 0,
            }
        };
        // `GMT+3` is a zone with its offset.
        if let Some(after) = text.strip_prefix(b"GMT") {
            return Some(3 + signed(after));
        }
        // Some zones have no abbreviation, only `+03`.
        if matches!(text.first(), Some(b'+' | b'-')) {
            return Some(signed(text)).filter(|length| *length > 0);
        }
        match text.iter().take(6).take_while(|byte| byte.is_ascii_uppercase()).count() {
            3 => Some(3),
            // Abbreviations of four or five letters end in `T`, except this one.
            4 if text.get(3) == Some(&b'T') || text.starts_with(b"WITA") => Some(4),
            5 if text.get(4) == Some(&b'T') => Some(5),
            _ => None,
        }
    }
}

fn digits(text: &[u8]) -> u32 {
    text.iter().fold(0, |number, byte| number * 10 + u32::from(byte - b'0'))
}

fn checked(value: u32, is_possible: bool, name: &'static str) -> LayoutResult<u32> {
    if is_possible { Ok(value) } else { Err(ElementProblem::OutOfRange(name)) }
}

#[derive(Default)]
struct DateParts {
    year: u32,
    month: Option<u32>,
    day: Option<u32>,
    year_day: Option<u32>,
    hour: u32,
    minute: u32,
    second: u32,
    nanoseconds: u32,
    is_pm: bool,
    is_am: bool,
    is_utc: bool,
    offset: Option<i32>,
    zone: Option<Vec<u8>>,
}

impl DateParts {
    fn read(&mut self, element: Element, reader: &mut DateReader<'_>, layout_after: &[u8]) -> LayoutResult<()> {
        match element {
            Element::Year => {
                let text = reader.take(2)?;
                if !text.iter().all(u8::is_ascii_digit) {
                    return Err(ElementProblem::Bad);
                }
                let year = digits(text);
                // Go reads 69 as 1969, because Unix time began on 31 December 1969 in some zones.
                self.year = if year >= 69 { year + 1900 } else { year + 2000 };
            }
            Element::LongYear => {
                let text = reader.take(4)?;
                if !text.iter().all(u8::is_ascii_digit) {
                    return Err(ElementProblem::Bad);
                }
                self.year = digits(text);
            }
            Element::Month => self.month = Some(reader.name(&MONTHS, Some(3))? + 1),
            Element::LongMonth => self.month = Some(reader.name(&MONTHS, None)? + 1),
            Element::NumMonth | Element::ZeroMonth => {
                let month = reader.number(element == Element::ZeroMonth)?;
                self.month = Some(checked(month, (1..=12).contains(&month), "month")?);
            }
            // Go reads a weekday, but never compares it with the date.
            Element::Weekday => {
                reader.name(&WEEKDAYS, Some(3))?;
            }
            Element::LongWeekday => {
                reader.name(&WEEKDAYS, None)?;
            }
            Element::Day | Element::UnderDay | Element::ZeroDay => {
                if element == Element::UnderDay && reader.rest.first() == Some(&b' ') {
                    reader.take(1)?;
                }
                // Whether the month has this day is known only at the end.
                self.day = Some(reader.number(element == Element::ZeroDay)?);
            }
            Element::UnderYearDay | Element::ZeroYearDay => {
                for _ in 0..2 {
                    if element == Element::UnderYearDay && reader.rest.first() == Some(&b' ') {
                        reader.take(1)?;
                    }
                }
                self.year_day = Some(reader.year_day(element == Element::ZeroYearDay)?);
            }
            Element::Hour => {
                // Go accepts a single digit here, although the layout shows two.
                let hour = reader.number(false)?;
                self.hour = checked(hour, hour < 24, "hour")?;
            }
            Element::Hour12 | Element::ZeroHour12 => {
                let hour = reader.number(element == Element::ZeroHour12)?;
                self.hour = checked(hour, hour <= 12, "hour")?;
            }
            Element::Minute | Element::ZeroMinute => {
                let minute = reader.number(element == Element::ZeroMinute)?;
                self.minute = checked(minute, minute < 60, "minute")?;
            }
            Element::Second | Element::ZeroSecond => {
                let second = reader.number(element == Element::ZeroSecond)?;
                self.second = checked(second, second < 60, "second")?;
                // A fraction may follow even if the layout has none.
                let wanted = matches!(
                    next_element(layout_after),
                    (_, Some((Element::Fraction { .. } | Element::TrimmedFraction { .. }, _)))
                );
                if !wanted && matches!(reader.rest.first(), Some(b'.' | b',')) && reader.digit_at(1).is_some() {
                    let length = 1 + reader.rest.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
                    self.nanoseconds = reader.nanoseconds(length)?;
                }
            }
            Element::UpperPm | Element::LowerPm => {
                let text = reader.take(2)?;
                let (am, pm): (&[u8], &[u8]) = match element {
                    Element::UpperPm => (b"AM", b"PM"),
                    _ => (b"am", b"pm"),
                };
                self.is_am |= text == am;
                self.is_pm |= text == pm;
                if text != am && text != pm {
                    return Err(ElementProblem::Bad);
                }
            }
            Element::Offset { z_for_utc: true, .. } if reader.rest.first() == Some(&b'Z') => {
                reader.take(1)?;
                self.is_utc = true;
            }
            Element::Offset { form, .. } => self.offset = Some(reader.offset(form)?),
            Element::Zone => {
                if reader.rest.starts_with(b"UTC") {
                    reader.take(3)?;
                    self.is_utc = true;
                } else {
                    let length = reader.zone_length().ok_or(ElementProblem::Bad)?;
                    self.zone = Some(reader.take(length)?.to_vec());
                }
            }
            Element::Fraction { digits, .. } => self.nanoseconds = reader.nanoseconds(1 + digits)?,
            Element::TrimmedFraction { .. } => {
                // A fraction of this form may be missing.
                if matches!(reader.rest.first(), Some(b'.' | b',')) && reader.digit_at(1).is_some() {
                    let length = 1 + reader.rest.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
                    self.nanoseconds = reader.nanoseconds(length)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the time, or the problem with the date.
    fn time(self) -> Result<Time, &'static str> {
        let year = i64::from(self.year);
        let mut hour = self.hour;
        if self.is_pm && hour < 12 {
            hour += 12;
        } else if self.is_am && hour == 12 {
            hour = 0;
        }
        let (mut month, mut day) = (self.month, self.day);
        if let Some(year_day) = self.year_day {
            if year_day < 1 || year_day > if is_leap(year) { 366 } else { 365 } {
                return Err("day-of-year out of range");
            }
            let mut rest = year_day;
            let mut found = 1;
            while rest > days_in_month(year, found) {
                rest -= days_in_month(year, found);
                found += 1;
            }
            if month.is_some_and(|month| month != found) {
                return Err("day-of-year does not match month");
            }
            if day.is_some_and(|day| day != rest) {
                return Err("day-of-year does not match day");
            }
            month = Some(found);
            day = Some(rest);
        }
        let (month, day) = (month.unwrap_or(1), day.unwrap_or(1));
        if day < 1 || day > days_in_month(year, month) {
            return Err("day out of range");
        }
        let seconds = days_from_date(year, month, day) * 86_400
            + i64::from(hour) * 3600
            + i64::from(self.minute) * 60
            + i64::from(self.second);
        let name = crate::text::lossy(&self.zone.unwrap_or_default());
        let zone = match self.offset {
            _ if self.is_utc => Zone::utc(),
            // Go looks for the offset in the local zone, which is UTC here.
            Some(0) if name.is_empty() => Zone::utc(),
            Some(offset) => Zone { name, offset },
            None if name.is_empty() => Zone::utc(),
            // An unknown abbreviation has no offset, unless it contains one.
            None => {
                let hours = name.strip_prefix("GMT").and_then(|hours| hours.parse::<i32>().ok()).unwrap_or(0);
                let offset = hours * 3600;
                // Go does not subtract this offset from the time.
                return Ok(Time { seconds, nanoseconds: self.nanoseconds, zone: Zone { name, offset } });
            }
        };
        Ok(Time { seconds: seconds - i64::from(zone.offset), nanoseconds: self.nanoseconds, zone })
    }
}

/// Skips text of the layout; blanks match any number of blanks.
fn skip<'v>(mut value: &'v [u8], mut prefix: &[u8]) -> Result<&'v [u8], &'v [u8]> {
    while let Some(byte) = prefix.first() {
        if *byte == b' ' {
            if value.first().is_some_and(|byte| *byte != b' ') {
                return Err(value);
            }
            // Blanks only: Go does not count a tab as one.
            prefix = without_blanks(prefix);
            value = without_blanks(value);
            continue;
        }
        if value.first() != Some(byte) {
            return Err(value);
        }
        prefix = prefix.get(1..).unwrap_or_default();
        value = value.get(1..).unwrap_or_default();
    }
    Ok(value)
}

fn without_blanks(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| **byte == b' ').count();
    text.get(blanks..).unwrap_or_default()
}

/// Reads a time by a layout; without a zone it is in UTC.
///
/// # Errors
/// Go's message.
pub(crate) fn parse(layout: &[u8], value: &[u8]) -> Result<Time, String> {
    let cannot = |element: &[u8], rest: &[u8]| {
        format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quote(value),
            quote(layout),
            quote(rest),
            quote(element)
        )
    };
    let wrong = |message: &str| format!("parsing time {}: {message}", quote(value));
    let mut parts = DateParts::default();
    let mut rest_layout = layout;
    let mut reader = DateReader { rest: value };
    loop {
        let (prefix, element) = next_element(rest_layout);
        reader.rest = skip(reader.rest, prefix).map_err(|rest| cannot(prefix, rest))?;
        let Some((element, length)) = element else {
            if !reader.rest.is_empty() {
                return Err(wrong(&format!("extra text: {}", quote(reader.rest))));
            }
            break;
        };
        let text = rest_layout.get(prefix.len()..prefix.len() + length).unwrap_or_default();
        rest_layout = rest_layout.get(prefix.len() + length..).unwrap_or_default();
        let before = reader.rest;
        parts.read(element, &mut reader, rest_layout).map_err(|problem| match problem {
            ElementProblem::Bad => cannot(text, before),
            ElementProblem::OutOfRange(name) => wrong(&format!("{name} out of range")),
        })?;
    }
    parts.time().map_err(wrong)
}
