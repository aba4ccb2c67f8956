//! What is on disk: given, changed by somebody else, left at the end.

use serde::Deserialize;
use serde::de::{self, Deserializer};

use super::form::True;

/// A text, perhaps generated.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Text {
    Plain(String),
    Repeated(Repeated),
    Lines(Lines),
    Joined(Joined),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Repeated {
    repeat: Box<Text>,
    count: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lines {
    lines: usize,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Joined {
    concat: Vec<Text>,
}

impl Text {
    pub(crate) fn get(&self) -> String {
        match self {
            Text::Plain(text) => text.clone(),
            Text::Repeated(text) => text.repeat.get().repeat(text.count),
            Text::Lines(text) => (1..=text.lines).map(|number| format!("line {number}\n")).collect(),
            Text::Joined(text) => text.concat.iter().map(Text::get).collect(),
        }
    }
}

/// Permissions, spelled `0755`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permissions(pub(crate) u32);

impl<'de> Deserialize<'de> for Permissions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Permissions, D::Error> {
        let text = String::deserialize(deserializer)?;
        let octal = text.len() == 4 && text.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
        match u32::from_str_radix(&text, 8) {
            Ok(mode) if octal => Ok(Permissions(mode)),
            Ok(_) | Err(_) => Err(de::Error::custom(format!("`{text}` is no mode: write `0755`"))),
        }
    }
}

/// What is made at a path.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Entry {
    Text(Text),
    File(TextFile),
    Bytes(BytesFile),
    Directory(Directory),
    Link(Link),
    HardLink(HardLink),
    Fifo(Fifo),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TextFile {
    pub(crate) text: Text,
    pub(crate) mode: Option<Permissions>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BytesFile {
    pub(crate) base64: Base64,
    pub(crate) mode: Option<Permissions>,
}

/// Bytes, spelled in base64.
#[derive(Clone, Debug)]
pub(crate) struct Base64(pub(crate) Vec<u8>);

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Base64, D::Error> {
        let text = String::deserialize(deserializer)?;
        decode_base64(&text).map(Base64).ok_or_else(|| de::Error::custom(format!("`{text}` is no base64")))
    }
}

/// The one spelling with padding.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0_u32);
    for digit in digits.bytes() {
        let value = DIGITS.iter().position(|candidate| *candidate == digit)?;
        held = (held << 6) | u32::try_from(value).ok()?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((held >> bits) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Directory {
    #[serde(rename = "directory")]
    _directory: True,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Link {
    pub(crate) link: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HardLink {
    pub(crate) hard_link: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fifo {
    #[serde(rename = "fifo")]
    _fifo: True,
}

/// What must be at a path at the end.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Left {
    Given(Given),
    Entry(Entry),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Given {
    #[serde(rename = "given")]
    _given: True,
}

/// What somebody else does at a path.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Change {
    Touched(Touched),
    Chmod(Chmod),
    Moved(Moved),
    KeptTime(KeptTime),
    Entry(Entry),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Touched {
    /// Seconds since 1970.
    pub(crate) touch: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chmod {
    pub(crate) chmod: Permissions,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Moved {
    pub(crate) moved_from: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeptTime {
    pub(crate) text: Text,
    #[serde(rename = "keep_mtime")]
    _keep_mtime: True,
}
