//! Columns of property values, typed and nullable, as they travel from input to fragments and back.
//!
//! Invariants: the cells have the width of the type; `validity`, where present, is as long as the cells; a null row
//! still has a (zero, empty) cell.

use crate::value::CellValue;
use crate::{Cells, KeyColumn, PropertyType, ScalarType, TextValues, Value};

/// A typed column with optional nulls.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    kind: PropertyType,
    cells: Cells,
    /// `false` where the row is null; absent when no row is.
    pub validity: Option<Vec<bool>>,
}

impl Column {
    /// An empty column of this type.
    pub fn new(kind: PropertyType) -> Self {
        Column { kind, cells: Cells::new(kind.width()), validity: None }
    }

    /// A column of these cells, without nulls; `None` if they are not as wide as the type says.
    ///
    /// ```
    /// use evergraph_types::{Cells, Column, PropertyType, Value};
    ///
    /// let bits = [0.5f32, 2.0].map(f32::to_bits).to_vec();
    /// let column = Column::of_cells(PropertyType::Float32, Cells::Four(bits)).expect("4 bytes each");
    /// assert_eq!(column.get(1), Value::Float(2.0));
    /// ```
    pub fn of_cells(kind: PropertyType, cells: Cells) -> Option<Self> {
        (cells.width() == kind.width()).then_some(Column { kind, cells, validity: None })
    }

    /// Microseconds since 1970-01-01 UTC.
    pub fn timestamps(micros: Vec<i64>) -> Self {
        Column { kind: PropertyType::Timestamp, ..Column::from(micros) }
    }

    /// The same column with these rows null; `None` leaves none.
    pub fn with_validity(self, validity: Option<Vec<bool>>) -> Self {
        Column { validity, ..self }
    }

    /// The type of the column.
    pub fn property_type(&self) -> PropertyType {
        self.kind
    }

    /// The cells, nulls included as zero or empty.
    pub fn cells(&self) -> &Cells {
        &self.cells
    }

    /// The cells, to append to; the validity is to be kept as long.
    pub fn cells_mut(&mut self) -> &mut Cells {
        &mut self.cells
    }

    /// The cells and validity.
    pub fn into_parts(self) -> (PropertyType, Cells, Option<Vec<bool>>) {
        (self.kind, self.cells, self.validity)
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the row is null.
    pub fn is_null(&self, row: usize) -> bool {
        self.validity.as_ref().is_some_and(|validity| !validity[row])
    }

    /// The first row with a cell that no value of the type has: a bool beyond 1 or, unless the row is null, a string that is no UTF-8
    /// or a list that is cut off. Only who fills cells by hand can make one.
    pub fn first_misfit(&self) -> Option<usize> {
        match &self.cells {
            Cells::One(bytes) if self.kind == PropertyType::Bool => bytes.iter().position(|&byte| byte > 1),
            Cells::Variable(texts) => {
                // Wherever it is cut.
                let is_ascii = texts.bytes.is_ascii();
                let is_value = |bytes: &[u8]| match self.kind {
                    PropertyType::Bytes => true,
                    PropertyType::String => is_ascii || std::str::from_utf8(bytes).is_ok(),
                    kind => Value::of_bytes(kind, bytes).is_some(),
                };
                (0..self.len()).find(|&row| !self.is_null(row) && !is_value(texts.get_bytes(row)))
            }
            _ => None,
        }
    }

    /// The value at `row`.
    pub fn get(&self, row: usize) -> Value {
        if self.is_null(row) {
            return Value::Null;
        }
        match &self.cells {
            Cells::Variable(texts) => Value::of_bytes(self.kind, texts.get_bytes(row)).unwrap_or(Value::Null),
            cells => Value::of_bits(self.kind, cells.bits(row)),
        }
    }

    /// Appends a value, coerced to the column's type as [`Value::coerce`] allows; hands it back if it does not fit.
    pub fn push(&mut self, value: Value) -> Result<(), Value> {
        self.push_coerced(&value.coerce(self.kind)?);
        Ok(())
    }

    /// Appends a value that [`Value::coerce`] has made fit the column.
    pub fn push_coerced(&mut self, value: &Value) {
        match value.cell(self.kind) {
            Some(CellValue::Bits(bits)) => self.push_bits(bits),
            Some(CellValue::Bytes(bytes)) => self.push_bytes(&bytes),
            None => self.push_nulls(1),
        }
    }

    /// Appends a cell of fixed width.
    #[inline]
    pub fn push_bits(&mut self, bits: u64) {
        self.cells.push_bits(bits);
        if let Some(validity) = &mut self.validity {
            validity.push(true);
        }
    }

    /// Appends a cell of variable width.
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        match &mut self.cells {
            Cells::Variable(texts) => texts.push_bytes(bytes),
            cells => cells.push_bits(0),
        }
        if let Some(validity) = &mut self.validity {
            validity.push(true);
        }
    }

    /// Appends so many nulls.
    pub fn push_nulls(&mut self, count: usize) {
        let (rows, total) = (self.len(), self.len() + count);
        if count == 0 {
            return;
        }
        self.cells.pad_to(total);
        self.validity.get_or_insert_with(|| vec![true; rows]).resize(total, false);
    }

    /// These of its rows, in this order.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn pick(&self, rows: impl Iterator<Item = usize> + Clone) -> Column {
        let picked = |validity: &Vec<bool>| rows.clone().map(|row| validity[row]).collect();
        let validity =
            self.validity.as_ref().map(picked).filter(|validity: &Vec<bool>| validity.contains(&false));
        Column { kind: self.kind, cells: self.cells.pick(rows), validity }
    }

    /// Appends the rows of a column, each coerced as [`Value::coerce`] allows; hands back the first row and value that
    /// does not fit. Rows before that one are appended.
    pub fn append(&mut self, other: &Column) -> Result<(), (usize, Value)> {
        if self.kind != other.kind {
            return (0..other.len())
                .try_for_each(|row| self.push(other.get(row)).map_err(|value| (row, value)));
        }
        let rows = self.len();
        self.cells.extend(&other.cells);
        if let Some(validity) = &other.validity {
            self.validity.get_or_insert_with(|| vec![true; rows]).extend_from_slice(validity);
        } else if let Some(validity) = &mut self.validity {
            validity.resize(rows + other.len(), true);
        }
        Ok(())
    }

    /// Appends the rows of a column of numbers or times as doubles, nulls as `missing`; nothing for other columns. A date is
    /// its midnight, in microseconds as a timestamp is.
    pub fn append_floats(&self, missing: f64, out: &mut Vec<f64>) {
        let start = out.len();
        match (&self.cells, self.kind.as_scalar()) {
            (Cells::Eight(bits), Some(ScalarType::Float64)) => {
                out.extend(bits.iter().map(|&bits| f64::from_bits(bits)));
            }
            (Cells::Four(bits), Some(ScalarType::Float32)) => {
                out.extend(bits.iter().map(|&bits| f64::from(f32::from_bits(bits))));
            }
            (Cells::Eight(bits), Some(ScalarType::Int64 | ScalarType::Timestamp)) => {
                out.extend(bits.iter().map(|&bits| bits as i64 as f64))
            }
            (cells, Some(scalar)) if scalar.is_number() || scalar == ScalarType::Date => {
                let number = |row| self.whole_number(row).map_or(missing, |number| number as f64);
                out.extend((0..cells.len()).map(number));
            }
            _ => {}
        }
        if let Some(validity) = &self.validity {
            let nulls = out[start..].iter_mut().zip(validity).filter(|(_, valid)| !**valid);
            nulls.for_each(|(number, _)| *number = missing);
        }
    }

    /// Appends, for each row that [`Column::append_floats`] appends, what the number has above the double nearest to it: 0
    /// but for whole numbers and times beyond 2^53. Both together are the exact number, and in its order.
    ///
    /// ```
    /// use evergraph_types::{Column, PropertyType};
    ///
    /// let mut column = Column::new(PropertyType::Int64);
    /// column.push(((1i64 << 53) + 1).into())?;
    /// let (mut numbers, mut remainders) = (Vec::new(), Vec::new());
    /// column.append_floats(0.0, &mut numbers);
    /// column.append_remainders(&mut remainders);
    /// assert_eq!((numbers, remainders), (vec![9_007_199_254_740_992.0], vec![1]));
    /// # Ok::<(), evergraph_types::Value>(())
    /// ```
    pub fn append_remainders(&self, out: &mut Vec<i16>) {
        let is_wide = matches!(
            self.kind.as_scalar(),
            Some(ScalarType::Int64 | ScalarType::UInt64 | ScalarType::Timestamp | ScalarType::Date)
        );
        if !is_wide {
            return out.resize(out.len() + self.len(), 0);
        }
        // Doubles are at most 2048 apart up to 2^64.
        let remainder = |number: i128| (number - number as f64 as i128) as i16;
        let of_row = |row| self.whole_number(row).filter(|_| !self.is_null(row)).map_or(0, remainder);
        out.extend((0..self.len()).map(of_row));
    }

    /// The number of a row, or the microseconds of a time; none for what is no whole number.
    fn whole_number(&self, row: usize) -> Option<i128> {
        match Value::of_bits(self.kind, self.cells.bits(row)) {
            Value::UInt(number) => Some(i128::from(number)),
            value => value.time().map(i128::from),
        }
    }

    /// Removes all rows, and keeps the memory.
    pub fn clear(&mut self) {
        match &mut self.cells {
            Cells::One(values) => values.clear(),
            Cells::Two(values) => values.clear(),
            Cells::Four(values) => values.clear(),
            Cells::Eight(values) => values.clear(),
            Cells::Variable(texts) => {
                texts.offsets.truncate(1);
                texts.bytes.clear();
            }
        }
        self.validity = None;
    }

    /// The column as vertex keys: integers without nulls, each an `int64`, or strings. Handed back if it is neither.
    pub fn into_keys(self) -> Result<KeyColumn, Column> {
        if self.validity.as_ref().is_some_and(|validity| validity.contains(&false)) {
            return Err(self);
        }
        let Some(scalar) = self.kind.as_scalar() else { return Err(self) };
        match self.cells {
            Cells::Variable(texts) if scalar == ScalarType::String => Ok(KeyColumn::Text(texts)),
            Cells::Eight(bits) if scalar == ScalarType::Int64 => {
                Ok(KeyColumn::Int(bits.into_iter().map(|bits| bits as i64).collect()))
            }
            _ if scalar.integer_range().is_some() => {
                let number = |row| match self.get(row) {
                    Value::Int(number) => Some(number),
                    _ => None,
                };
                let numbers: Option<Vec<i64>> = (0..self.len()).map(number).collect();
                numbers.map(KeyColumn::Int).ok_or(self)
            }
            _ => Err(self),
        }
    }
}

impl From<Vec<bool>> for Column {
    fn from(flags: Vec<bool>) -> Self {
        let cells = Cells::One(flags.into_iter().map(u8::from).collect());
        Column { kind: PropertyType::Bool, cells, validity: None }
    }
}

impl From<Vec<i64>> for Column {
    fn from(numbers: Vec<i64>) -> Self {
        let cells = Cells::Eight(numbers.into_iter().map(|number| number as u64).collect());
        Column { kind: PropertyType::Int64, cells, validity: None }
    }
}

impl From<Vec<f64>> for Column {
    fn from(numbers: Vec<f64>) -> Self {
        let cells = Cells::Eight(numbers.into_iter().map(f64::to_bits).collect());
        Column { kind: PropertyType::Float64, cells, validity: None }
    }
}

/// Strings, which are UTF-8.
impl From<TextValues> for Column {
    fn from(texts: TextValues) -> Self {
        Column { kind: PropertyType::String, cells: Cells::Variable(texts), validity: None }
    }
}
