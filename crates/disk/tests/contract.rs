//! All disks do the same: random operations on the system's, the simulated one and that in memory give the same answers.

#![allow(clippy::unwrap_used)] // A failure to set up is a failed test.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evergraph_disk::{
    AppendFile, Disk, DiskError, Mapping, MemoryDisk, OsDisk, SharedFile, SimDisk, write_atomically,
};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Create(u8),
    OpenAppend(u8),
    Append(u8, Vec<Vec<u8>>),
    Sync(u8),
    Rename(u8, u8),
    Remove(u8),
    Truncate(u8, u64),
    Rewrite(u8, u64),
    WriteAtomically(u8, Vec<u8>),
    SyncDirectory,
    MakeRoom(u8, u64),
    CutRoom(u8),
}

/// Steps among which room is made ahead.
fn step_with_room() -> impl Strategy<Value = Step> {
    let name = 0..4u8;
    prop_oneof![
        3 => step(),
        1 => (name.clone(), 0..3000u64).prop_map(|(name, bytes)| Step::MakeRoom(name, bytes)),
        1 => name.prop_map(Step::CutRoom),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let name = 0..4u8;
    let bytes = prop::collection::vec(any::<u8>(), 0..700);
    prop_oneof![
        3 => name.clone().prop_map(Step::Create),
        1 => name.clone().prop_map(Step::OpenAppend),
        6 => (name.clone(), prop::collection::vec(bytes.clone(), 0..4)).prop_map(|(name, parts)| Step::Append(name, parts)),
        1 => name.clone().prop_map(Step::Sync),
        2 => (name.clone(), 0..4u8).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => name.clone().prop_map(Step::Remove),
        2 => (name.clone(), 0..1500u64).prop_map(|(name, length)| Step::Truncate(name, length)),
        1 => (name.clone(), 0..1500u64).prop_map(|(name, offset)| Step::Rewrite(name, offset)),
        1 => (name, bytes).prop_map(|(name, bytes)| Step::WriteAtomically(name, bytes)),
        1 => Just(Step::SyncDirectory),
    ]
}

/// A disk with its open files, carrying out steps and telling what came of each.
struct Run<D> {
    disk: D,
    directory: PathBuf,
    open: BTreeMap<u8, Box<dyn AppendFile>>,
}

impl<D: Disk> Run<D> {
    fn new(disk: D, directory: &Path) -> Self {
        disk.create_dir_all(directory).unwrap();
        Run { disk, directory: directory.to_owned(), open: BTreeMap::new() }
    }

    fn path(&self, name: u8) -> PathBuf {
        self.directory.join(format!("file{name}"))
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        let kind = |error: DiskError| match error {
            DiskError::NotFound { .. } => "absent".to_owned(),
            DiskError::Exists { .. } => "exists".to_owned(),
            DiskError::Io { operation, .. } => operation.to_owned(),
            other => format!("{other:?}"),
        };
        match step {
            Step::Create(name) => {
                let file = self.disk.create(&self.path(*name)).map_err(kind)?;
                self.open.insert(*name, file);
            }
            Step::OpenAppend(name) => {
                let file = self.disk.open_append(&self.path(*name)).map_err(kind)?;
                self.open.insert(*name, file);
            }
            Step::Append(name, parts) => {
                let Some(file) = self.open.get_mut(name) else { return Ok(()) };
                let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
                file.append_vectored(&parts).map_err(kind)?;
            }
            Step::Sync(name) => match self.open.get_mut(name) {
                Some(file) => file.sync().map_err(kind)?,
                None => return Ok(()),
            },
            // The store lets go of files before it moves or cuts them.
            Step::Rename(from, to) => {
                self.open.remove(from);
                self.open.remove(to);
                self.disk.rename(&self.path(*from), &self.path(*to)).map_err(kind)?;
            }
            Step::Remove(name) => {
                self.open.remove(name);
                self.disk.remove(&self.path(*name)).map_err(kind)?;
            }
            Step::Truncate(name, length) => {
                self.open.remove(name);
                self.disk.truncate(&self.path(*name), *length).map_err(kind)?;
            }
            Step::Rewrite(name, offset) => self.disk.rewrite(&self.path(*name), *offset).map_err(kind)?,
            Step::WriteAtomically(name, bytes) => {
                self.open.remove(name);
                write_atomically(&self.disk, &self.directory, &format!("file{name}"), bytes).map_err(kind)?;
            }
            Step::SyncDirectory => self.disk.sync_dir(&self.directory).map_err(kind)?,
            Step::MakeRoom(name, length) => {
                let Some(file) = self.open.get_mut(name) else { return Ok(()) };
                file.make_room(*length);
                assert!(file.room_end() >= file.len().max(*length));
            }
            Step::CutRoom(name) => {
                let Some(file) = self.open.get_mut(name) else { return Ok(()) };
                file.cut_room().map_err(kind)?;
                assert_eq!(file.room_end(), file.len());
            }
        }
        Ok(())
    }

    /// Everything that can be seen of the disk, read in every way there is.
    fn image(&self) -> BTreeMap<String, Vec<u8>> {
        let names = self.disk.list(&self.directory).unwrap();
        let files = names.into_iter().map(|name| {
            let path = self.directory.join(&name);
            let bytes = self.disk.read(&path).unwrap();
            assert_eq!(&*self.disk.map(&path).unwrap(), &bytes[..]);
            assert_eq!(self.disk.len(&path).unwrap(), Some(bytes.len() as u64));
            for (offset, length) in
                [(0, usize::MAX), (1, 300), (bytes.len() / 2, 9), (bytes.len(), 5), (5000, 1)]
            {
                let expected: Vec<u8> = bytes.iter().skip(offset).take(length).copied().collect();
                assert_eq!(self.disk.read_at(&path, offset as u64, length).unwrap(), expected);
            }
            (name, bytes)
        });
        files.collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn the_other_disks_answer_as_the_real_one(steps in prop::collection::vec(step(), 0..30)) {
        let home = tempfile::tempdir().unwrap();
        let mut real = Run::new(OsDisk, &home.path().join("a/b"));
        let mut simulated = Run::new(SimDisk::new(0), Path::new("/a/b"));
        let mut memory = Run::new(MemoryDisk::new(), Path::new("/a/b"));
        for step in &steps {
            let outcome = real.step(step);
            prop_assert_eq!(&outcome, &simulated.step(step), "{:?}", step);
            prop_assert_eq!(&outcome, &memory.step(step), "{:?}", step);
            prop_assert_eq!(real.image(), simulated.image());
            prop_assert_eq!(real.image(), memory.image());
            for (name, file) in &real.open {
                prop_assert_eq!(file.len(), simulated.open[name].len());
                prop_assert_eq!(file.len(), memory.open[name].len());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn room_ahead_is_zeros_on_both_disks_that_have_it(steps in prop::collection::vec(step_with_room(), 0..40)) {
        let home = tempfile::tempdir().unwrap();
        let mut real = Run::new(OsDisk, &home.path().join("a/b"));
        let mut simulated = Run::new(SimDisk::new(0), Path::new("/a/b"));
        for step in &steps {
            prop_assert_eq!(real.step(step), simulated.step(step), "{:?}", step);
            prop_assert_eq!(real.image(), simulated.image());
            for (name, file) in &real.open {
                prop_assert_eq!(file.len(), simulated.open[name].len());
                prop_assert_eq!(file.room_end(), simulated.open[name].room_end());
                let bytes = real.disk.read(&real.path(*name)).unwrap();
                prop_assert_eq!(bytes.len() as u64, file.room_end());
                prop_assert!(bytes[file.len() as usize..].iter().all(|byte| *byte == 0));
            }
        }
    }
}

/// What is appended into room, now as memory and now by a call, is in the file in its place, and nothing else is.
#[test]
fn room_is_filled_as_a_file_is_written() {
    fill(|file, length| file.make_room(length));
}

/// So it is where somebody else makes the room, and goes on after it was cut off.
#[test]
fn room_is_made_beside_whoever_fills_it() {
    let (sender, wishes) = std::sync::mpsc::channel::<(Arc<dyn SharedFile>, u64)>();
    std::thread::scope(|scope| {
        scope.spawn(|| wishes.into_iter().for_each(|(file, length)| file.make_room(length)));
        fill(move |file, length| {
            // After it was cut off, by nobody else.
            if file.room_end() == file.len() {
                file.make_room(file.len() + 100);
            }
            sender.send((file.shared(), length)).unwrap();
        });
    });
}

/// Appends to a file that is given room.
fn fill(mut make_room: impl FnMut(&mut dyn AppendFile, u64)) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("file");
    let mut file = OsDisk.create(&path).unwrap();
    let mut written = Vec::new();
    // More than is mapped at once; now and then a record finds too little room.
    for number in 0..40_000_usize {
        let length = if number % 1_000 == 999 { 10_000 } else { number * 7 % 320 };
        let record: Vec<u8> = (0..length).map(|byte| (number + byte * 3) as u8).collect();
        let (head, tail) = record.split_at(length / 3);
        if number % 500 != 0 && file.room_end() < file.len() + 320 {
            let length = file.len() + 100_003;
            make_room(&mut *file, length);
        }
        file.append_vectored(&[head, &[], tail]).unwrap();
        written.extend(record);
        if number % 3_000 == 2_999 {
            file.sync().unwrap();
        }
        if number % 9_000 == 8_999 {
            file.cut_room().unwrap();
        }
        if number % 1_500 == 1_499 {
            let bytes = OsDisk.read(&path).unwrap();
            let (appended, room) = bytes.split_at(written.len());
            assert!(appended == written, "record {number}");
            assert_eq!(written.len() as u64, file.len());
            assert!(room.iter().all(|byte| *byte == 0), "record {number}");
        }
    }
    assert!(written.len() > 5 << 20);
    file.cut_room().unwrap();
    drop(file);
    assert!(OsDisk.read(&path).unwrap() == written);
}

#[test]
fn a_mapping_is_aligned_and_keeps_what_it_showed() {
    let home = tempfile::tempdir().unwrap();
    let root = Path::new("/");
    let disks: [(Box<dyn Disk>, &Path); 3] = [
        (Box::new(OsDisk), home.path()),
        (Box::new(SimDisk::new(0)), root),
        (Box::new(MemoryDisk::new()), root),
    ];
    for (disk, directory) in disks {
        let path = directory.join("file");
        let mut file = disk.create(&path).unwrap();
        assert!(disk.map(&path).unwrap().is_empty());
        file.append(&[7; 100]).unwrap();
        let mapping = disk.map(&path).unwrap();
        file.append(&[8; 5000]).unwrap();
        disk.remove(&path).unwrap();
        assert_eq!(&*mapping.clone(), &[7; 100]);
        assert_eq!(mapping.as_ptr().align_offset(Mapping::ALIGNMENT), 0);
    }
}

#[test]
fn what_is_absent_is_named() {
    let home = tempfile::tempdir().unwrap();
    let root = Path::new("/");
    let disks: [(Box<dyn Disk>, &Path); 3] = [
        (Box::new(OsDisk), home.path()),
        (Box::new(SimDisk::new(0)), root),
        (Box::new(MemoryDisk::new()), root),
    ];
    for (disk, directory) in disks {
        let path = directory.join("none");
        for error in [
            disk.read(&path).unwrap_err(),
            disk.read_at(&path, 0, 1).unwrap_err(),
            disk.map(&path).unwrap_err(),
            disk.open_append(&path).unwrap_err(),
            disk.list(&path).unwrap_err(),
            disk.create(&path.join("file")).unwrap_err(),
            disk.sync_dir(&path).unwrap_err(),
        ] {
            assert!(matches!(error, DiskError::NotFound { .. }), "{error}");
            assert!(error.to_string().contains("none"), "{error}");
        }
        assert_eq!(disk.len(&path).unwrap(), None);
    }
}
