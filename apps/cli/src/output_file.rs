//! A file that is written as a whole or not at all.
//!
//! ```text
//! OutputFile::create ─► FILE.partial ─► finish ─► renamed to FILE
//!                                └───── dropped ─► removed
//! ```
//!
//! Ctrl-C has the next write fail. A name that ends in `.gz` or `.zst` compresses; `-` is standard output. What is no regular
//! file, such as a pipe or `/dev/null`, is written directly.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use evergraph::generate::WriteError;
use evergraph::load::ExportError;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::CommandError;
use crate::interrupt::{self, Interrupt};

const BUFFER_BYTES: usize = 1 << 20;

/// Where a command writes edges to.
pub(crate) struct OutputFile {
    encoder: Encoder,
    /// Where it is written, and the name it gets in the end.
    rename: Option<(PathBuf, PathBuf)>,
    /// Of a file that is to be removed if it does not become whole.
    interrupt: Option<Interrupt>,
}

enum Encoder {
    Plain(Box<dyn Write>),
    Gzip(GzEncoder<Box<dyn Write>>),
    Zstd(zstd::Encoder<'static, Box<dyn Write>>),
}

impl OutputFile {
    /// Standard output.
    pub(crate) fn standard_output() -> Self {
        let out: Box<dyn Write> = Box::new(BufWriter::with_capacity(BUFFER_BYTES, io::stdout()));
        OutputFile { encoder: Encoder::Plain(out), rename: None, interrupt: None }
    }

    /// The file of this name. One that is there already is replaced only by `force`.
    pub(crate) fn create(path: &Path, force: bool) -> Result<Self, CommandError> {
        if path == Path::new("-") {
            return Ok(Self::standard_output());
        }
        let rename = match fs::metadata(path) {
            Ok(found) if !found.is_file() => None,
            Ok(_) if !force => return Err(CommandError::Exists { path: path.to_owned() }),
            _ => Some((partial(path), path.to_owned())),
        };
        let written = rename.as_ref().map_or(path, |(partial, _)| partial);
        let out = File::create(written).map_err(CommandError::file(path))?;
        let interrupt = rename.is_some().then(Interrupt::listen);
        let mut file = OutputFile { encoder: Encoder::Plain(Box::new(io::sink())), rename, interrupt };
        let out: Box<dyn Write> = Box::new(BufWriter::with_capacity(BUFFER_BYTES, out));
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        file.encoder = match extension.to_ascii_lowercase().as_str() {
            "gz" | "gzip" => Encoder::Gzip(GzEncoder::new(out, Compression::default())),
            "zst" | "zstd" => Encoder::Zstd(zstd::Encoder::new(out, 0).map_err(CommandError::file(path))?),
            _ => Encoder::Plain(out),
        };
        Ok(file)
    }

    /// Writes what is buffered, and gives the file its name.
    pub(crate) fn finish(mut self) -> Result<(), CommandError> {
        let encoder = std::mem::replace(&mut self.encoder, Encoder::Plain(Box::new(io::sink())));
        let mut out = match encoder {
            Encoder::Plain(out) => out,
            Encoder::Gzip(encoder) => encoder.finish()?,
            Encoder::Zstd(encoder) => encoder.finish()?,
        };
        out.flush()?;
        drop(out);
        if let Some((partial, path)) = self.rename.take() {
            fs::rename(&partial, &path).map_err(CommandError::file(&path))?;
        }
        Ok(())
    }
}

/// What an error of writing the file of this name is told as: with the name, or that a signal stopped it.
pub(crate) fn named(path: &Path) -> impl Fn(CommandError) -> CommandError {
    move |error| match error {
        error if path == Path::new("-") => error,
        CommandError::Output(error)
        | CommandError::Export(ExportError::Write(error))
        | CommandError::Generate(WriteError::Write { source: error, .. }) => match interrupt::heard() {
            Some(_) => CommandError::interrupted(format!("{} was not written", path.display())),
            None => CommandError::file(path)(error),
        },
        error => error,
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.interrupt.is_some() && interrupt::heard().is_some() {
            return Err(io::Error::other("stopped"));
        }
        match &mut self.encoder {
            Encoder::Plain(out) => out.write(bytes),
            Encoder::Gzip(encoder) => encoder.write(bytes),
            Encoder::Zstd(encoder) => encoder.write(bytes),
        }
    }

    /// Compressors are flushed by [`OutputFile::finish`] alone: each flush would cost some of the compression.
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.encoder {
            Encoder::Plain(out) => out.flush(),
            Encoder::Gzip(_) | Encoder::Zstd(_) => Ok(()),
        }
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some((partial, _)) = &self.rename {
            // What cannot be removed is left, under a name that says what it is.
            let _ = fs::remove_file(partial);
        }
    }
}

fn partial(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".partial");
    PathBuf::from(name)
}
