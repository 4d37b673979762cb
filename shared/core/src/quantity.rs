//! Kubernetes quantities, exactly: `500m`, `1.5Gi`, `2e3`.

use serde_json::Value;

/// Why a value is no quantity that can be counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadQuantity(pub String);

/// A quantity of CPU in thousandths of a core, rounded up.
pub fn millicores(value: &Value) -> Result<i64, BadQuantity> {
    thousandths(value)
}

/// A quantity of anything in thousandths, rounded up: what Kubernetes' autoscaler counts in.
pub fn thousandths(value: &Value) -> Result<i64, BadQuantity> {
    read(value, 1000)
}

/// A quantity of memory in bytes, rounded up.
pub fn bytes(value: &Value) -> Result<i64, BadQuantity> {
    read(value, 1)
}

fn read(value: &Value, unit: i128) -> Result<i64, BadQuantity> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        other => return Err(BadQuantity(other.to_string())),
    };
    parse(&text, unit).ok_or(BadQuantity(text))
}

/// The quantity times `unit`, rounded up; `None` for what is no quantity, negative, or too large to count.
fn parse(text: &str, unit: i128) -> Option<i64> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    let digits: i128 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    let (tens, twos) = scale(suffix)?;
    let tens = tens.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let value = digits.checked_mul(1_i128.checked_shl(twos)?)?.checked_mul(unit)?;
    let power = 10_i128.checked_pow(tens.unsigned_abs());
    let value = match power {
        Some(power) if tens >= 0 => value.checked_mul(power)?,
        Some(power) => value / power + i128::from(value % power != 0),
        // So large a power of ten leaves nothing of a number, or makes it too large.
        None if value == 0 => 0,
        None if tens < 0 => 1,
        None => return None,
    };
    i64::try_from(value).ok()
}

/// What a suffix multiplies by: a power of ten and a power of two. `K` is read as `k`.
fn scale(suffix: &str) -> Option<(i32, u32)> {
    Some(match suffix {
        "" => (0, 0),
        "n" => (-9, 0),
        "u" => (-6, 0),
        "m" => (-3, 0),
        "k" | "K" => (3, 0),
        "M" => (6, 0),
        "G" => (9, 0),
        "T" => (12, 0),
        "P" => (15, 0),
        "E" => (18, 0),
        "Ki" => (0, 10),
        "Mi" => (0, 20),
        "Gi" => (0, 30),
        "Ti" => (0, 40),
        "Pi" => (0, 50),
        "Ei" => (0, 60),
        _ => (suffix.strip_prefix(['e', 'E'])?.parse::<i16>().ok()?.into(), 0),
    })
}
