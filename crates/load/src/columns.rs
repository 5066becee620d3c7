//! Which field of a record is what: the columns that the options ask for, found in this file.

use std::path::Path;

use evergraph_types::KeyKind;

use crate::plan::{Plan, PropertyPlan};
use crate::split::Dialect;
use crate::{ColumnRef, LoadError, LoadOptions, PropertySpec};

/// The columns that a file has.
pub(crate) struct Columns<'a> {
    pub(crate) path: &'a Path,
    /// Their names.
    pub(crate) header: Option<&'a [String]>,
    /// The numbers of fields of the first rows.
    pub(crate) counts: &'a [usize],
}

impl Columns<'_> {
    /// The plan to read the file by; types are yet to be inferred.
    pub(crate) fn plan(&self, options: &LoadOptions, dialect: Dialect) -> Result<Plan, LoadError> {
        let (src, dst) = self.ends(options)?;
        let specs = match &options.properties {
            Some(specs) => specs.clone(),
            None => self.other_columns(src, dst),
        };
        let mut properties: Vec<PropertyPlan> = Vec::with_capacity(specs.len());
        for PropertySpec { column, name, kind } in specs {
            if properties.iter().any(|property| property.name == name) {
                let reason =
                    format!("two columns would be named {name:?}; choose the columns and their names");
                return Err(LoadError::Option { path: self.path.to_owned(), option: "properties", reason });
            }
            let field = self.position(&column)?;
            properties.push(PropertyPlan { field, name, kind, declared: kind.is_some() });
        }
        let used = properties.iter().map(|property| property.field).chain([src, dst]).max().unwrap_or(0);
        Ok(Plan {
            dialect,
            fields: self.fields(used)?,
            src,
            dst,
            keys: options.keys.unwrap_or(KeyKind::Int64),
            keys_inferred: options.keys.is_none(),
            properties,
            on_error: options.on_error,
            rejects_kept: options.max_rejects_kept,
            bytes_per_row: 16,
        })
    }

    /// The positions of the source and destination keys.
    fn ends(&self, options: &LoadOptions) -> Result<(usize, usize), LoadError> {
        let (usual_src, usual_dst) = self.usual_ends();
        let src = options.src.as_ref().map(|column| self.position(column)).transpose()?;
        let dst = options.dst.as_ref().map(|column| self.position(column)).transpose()?;
        Ok(match (src, dst) {
            (Some(src), Some(dst)) if src == dst => {
                let column = options.dst.as_ref().map(ColumnRef::to_string).unwrap_or_default();
                let reason = format!("column {column} is that of the source keys already; name another one");
                return Err(LoadError::Option { path: self.path.to_owned(), option: "dst", reason });
            }
            (Some(src), Some(dst)) => (src, dst),
            (Some(src), None) => (src, if src == usual_dst { usual_src } else { usual_dst }),
            (None, Some(dst)) => (if dst == usual_src { usual_dst } else { usual_src }, dst),
            (None, None) => (usual_src, usual_dst),
        })
    }

    /// Where the keys are if nothing is said: under the usual names, else in front.
    fn usual_ends(&self) -> (usize, usize) {
        let position = |wanted: &str| {
            self.header.and_then(|names| names.iter().position(|name| name.eq_ignore_ascii_case(wanted)))
        };
        [("src", "dst"), ("source", "target"), ("source", "destination"), ("from", "to")]
            .into_iter()
            .find_map(|(src, dst)| position(src).zip(position(dst)))
            .unwrap_or((0, 1))
    }

    /// All named columns but the keys.
    fn other_columns(&self, src: usize, dst: usize) -> Vec<PropertySpec> {
        let names = self.header.unwrap_or_default().iter().enumerate();
        let others = names.filter(|(position, _)| *position != src && *position != dst);
        others
            .map(|(position, name)| PropertySpec {
                column: ColumnRef::Index(position),
                name: if name.is_empty() { format!("column{position}") } else { name.clone() },
                kind: None,
            })
            .collect()
    }

    fn position(&self, column: &ColumnRef) -> Result<usize, LoadError> {
        match (column, self.header) {
            (ColumnRef::Index(index), _) => Ok(*index),
            (ColumnRef::Name(wanted), Some(names)) => {
                names.iter().position(|name| name == wanted).ok_or_else(|| self.missing(column))
            }
            (ColumnRef::Name(_), None) => Err(self.missing(column)),
        }
    }

    /// How many fields a record has, if that is enough for the last column `used`.
    fn fields(&self, used: usize) -> Result<usize, LoadError> {
        let mut candidates = match self.header {
            Some(names) => vec![names.len()],
            None => self.counts.to_vec(),
        };
        candidates.retain(|count| *count > used);
        candidates.first().copied().ok_or_else(|| self.missing(&ColumnRef::Index(used)))
    }

    fn missing(&self, column: &ColumnRef) -> LoadError {
        let found = match self.header {
            Some(names) => names.to_vec(),
            None => (0..self.counts.first().copied().unwrap_or(0)).map(|index| index.to_string()).collect(),
        };
        LoadError::MissingColumn { path: self.path.to_owned(), wanted: column.to_string(), found }
    }
}
