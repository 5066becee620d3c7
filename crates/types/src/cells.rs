//! Cells of one width, side by side: the only place that tells the widths apart.
//!
//! Invariant: offsets of byte strings begin at 0, ascend and end at the number of bytes.

/// Byte strings laid end to end, mostly text: string `i` is `bytes[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextValues {
    /// One more than there are strings, from 0, ascending.
    pub offsets: Vec<u64>,
    /// The bytes; UTF-8 where the strings are text.
    pub bytes: Vec<u8>,
}

impl Default for TextValues {
    fn default() -> Self {
        TextValues { offsets: vec![0], bytes: Vec::new() }
    }
}

impl<T: AsRef<str>> FromIterator<T> for TextValues {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut values = TextValues::default();
        texts.into_iter().for_each(|text| values.push(text.as_ref()));
        values
    }
}

impl TextValues {
    /// How many strings there are.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends one string.
    pub fn push(&mut self, text: &str) {
        self.push_bytes(text.as_bytes());
    }

    /// Appends one string of any bytes.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.offsets.push(self.bytes.len() as u64);
    }

    /// The string at `row`; empty where the bytes are no UTF-8, which `push` rules out.
    pub fn get(&self, row: usize) -> &str {
        std::str::from_utf8(self.get_bytes(row)).unwrap_or("")
    }

    /// The bytes at `row`.
    pub fn get_bytes(&self, row: usize) -> &[u8] {
        &self.bytes[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }

    /// The first string that is no UTF-8.
    pub fn first_non_text(&self) -> Option<usize> {
        let is_text = |row: &usize| std::str::from_utf8(self.get_bytes(*row)).is_ok();
        // ASCII is text wherever it is cut.
        if self.bytes.is_ascii() { None } else { (0..self.len()).find(|row| !is_text(row)) }
    }

    /// All strings in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.len()).map(|row| self.get(row))
    }
}

/// Cells of one width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cells {
    /// Of 1 byte.
    One(Vec<u8>),
    /// Of 2 bytes.
    Two(Vec<u16>),
    /// Of 4 bytes.
    Four(Vec<u32>),
    /// Of 8 bytes.
    Eight(Vec<u64>),
    /// Of any number of bytes.
    Variable(TextValues),
}

/// Evaluates an expression with `$values` standing for the vector of whatever width, and another for byte strings.
macro_rules! match_width {
    ($cells:expr, $values:ident => $fixed:expr, $texts:ident => $variable:expr) => {
        match $cells {
            Cells::One($values) => $fixed,
            Cells::Two($values) => $fixed,
            Cells::Four($values) => $fixed,
            Cells::Eight($values) => $fixed,
            Cells::Variable($texts) => $variable,
        }
    };
}

/// A cell of fixed width.
trait Word: Sized + Copy {
    /// The number of these little-endian bytes.
    fn read(bytes: &[u8]) -> Self;
    fn of_bits(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! impl_word {
    ($($word:ty),*) => {
        $(impl Word for $word {
            #[inline]
            fn read(bytes: &[u8]) -> Self {
                bytes.first_chunk().map_or(0, |bytes| <$word>::from_le_bytes(*bytes))
            }
            #[inline]
            fn of_bits(bits: u64) -> Self {
                bits as $word
            }
            #[inline]
            fn bits(self) -> u64 {
                self.into()
            }
        })*
    };
}

impl_word!(u8, u16, u32, u64);

fn extend<W: Word>(values: &mut Vec<W>, bytes: &[u8]) {
    values.extend(bytes.chunks_exact(size_of::<W>()).map(W::read));
}

fn extend_words<W: Word>(values: &mut Vec<W>, bits: impl Iterator<Item = u64>) {
    values.extend(bits.map(W::of_bits));
}

fn extend_picked<W: Word>(values: &mut Vec<W>, bytes: &[u8], rows: impl Iterator<Item = usize>) {
    values.extend(rows.map(|row| W::read(&bytes[row * size_of::<W>()..])));
}

impl Cells {
    /// No cells, of this width or, without one, of any number of bytes.
    ///
    /// # Panics
    /// If there are no cells of this width: it is 1, 2, 4 or 8.
    pub fn new(width: Option<usize>) -> Self {
        match width {
            None => Cells::Variable(TextValues::default()),
            Some(1) => Cells::One(Vec::new()),
            Some(2) => Cells::Two(Vec::new()),
            Some(4) => Cells::Four(Vec::new()),
            Some(8) => Cells::Eight(Vec::new()),
            Some(width) => panic!("no type has cells of {width} bytes"),
        }
    }

    /// The bytes of a cell; `None` where they vary.
    pub fn width(&self) -> Option<usize> {
        match self {
            Cells::One(_) => Some(1),
            Cells::Two(_) => Some(2),
            Cells::Four(_) => Some(4),
            Cells::Eight(_) => Some(8),
            Cells::Variable(_) => None,
        }
    }

    /// The number of cells.
    pub fn len(&self) -> usize {
        match_width!(self, values => values.len(), texts => texts.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where a cell lies or, of a byte string, the place of its bytes: for asking the processor for it.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn place(&self, row: usize) -> *const u8 {
        match_width!(self, values => values[row..].as_ptr().cast(), texts => texts.offsets[row..].as_ptr().cast())
    }

    /// Makes room for so many more cells, byte strings without their bytes.
    pub fn reserve(&mut self, rows: usize) {
        match_width!(self, values => values.reserve(rows), texts => texts.offsets.reserve(rows));
    }

    /// Appends zero or empty cells until there are `rows`.
    pub fn pad_to(&mut self, rows: usize) {
        match_width!(self, values => values.resize(rows, 0), texts => {
            texts.offsets.resize(rows + 1, texts.bytes.len() as u64)
        });
    }

    /// Appends a cell of fixed width. Bits above the width are dropped; a byte string is empty.
    #[inline]
    pub fn push_bits(&mut self, bits: u64) {
        match_width!(self, values => values.push(Word::of_bits(bits)), texts => texts.push_bytes(&[]));
    }

    /// The bits of a cell of fixed width; 0 for a byte string.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn bits(&self, row: usize) -> u64 {
        match_width!(self, values => values[row].bits(), _texts => 0)
    }

    /// The byte strings, if the width varies.
    pub fn texts(&self) -> Option<&TextValues> {
        if let Cells::Variable(texts) = self { Some(texts) } else { None }
    }

    /// The byte strings, if the width varies.
    pub fn texts_mut(&mut self) -> Option<&mut TextValues> {
        if let Cells::Variable(texts) = self { Some(texts) } else { None }
    }

    /// Appends cells of fixed width, without their bits above the width; to byte strings nothing.
    pub fn extend_bits(&mut self, bits: impl Iterator<Item = u64>) {
        match_width!(self, values => extend_words(values, bits), _texts => ());
    }

    /// Appends cells of fixed width that lie side by side in little-endian bytes.
    pub fn extend_from_le(&mut self, bytes: &[u8]) {
        match_width!(self, values => extend(values, bytes), _texts => ());
    }

    /// Appends these of the cells of fixed width that lie side by side in little-endian bytes.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn extend_rows_from_le(&mut self, bytes: &[u8], rows: impl Iterator<Item = usize>) {
        match_width!(self, values => extend_picked(values, bytes, rows), _texts => ());
    }

    /// These of the cells, in this order.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn pick(&self, rows: impl Iterator<Item = usize>) -> Cells {
        match self {
            Cells::One(values) => Cells::One(rows.map(|row| values[row]).collect()),
            Cells::Two(values) => Cells::Two(rows.map(|row| values[row]).collect()),
            Cells::Four(values) => Cells::Four(rows.map(|row| values[row]).collect()),
            Cells::Eight(values) => Cells::Eight(rows.map(|row| values[row]).collect()),
            Cells::Variable(texts) => {
                let mut picked = TextValues::default();
                rows.for_each(|row| picked.push_bytes(texts.get_bytes(row)));
                Cells::Variable(picked)
            }
        }
    }

    /// Appends cells of the same width. Cells of another width are not appended.
    pub fn extend(&mut self, other: &Cells) {
        match (self, other) {
            (Cells::One(values), Cells::One(others)) => values.extend_from_slice(others),
            (Cells::Two(values), Cells::Two(others)) => values.extend_from_slice(others),
            (Cells::Four(values), Cells::Four(others)) => values.extend_from_slice(others),
            (Cells::Eight(values), Cells::Eight(others)) => values.extend_from_slice(others),
            (Cells::Variable(texts), Cells::Variable(others)) => {
                let start = texts.bytes.len() as u64;
                texts.bytes.extend_from_slice(&others.bytes);
                texts.offsets.extend(others.offsets[1..].iter().map(|end| start + end));
            }
            _ => {}
        }
    }

    /// Appends the cells of fixed width as little-endian bytes.
    pub fn to_le(&self, out: &mut Vec<u8>) {
        match_width!(
            self,
            values => out.extend(values.iter().flat_map(|value| value.to_le_bytes())),
            _texts => ()
        );
    }
}
