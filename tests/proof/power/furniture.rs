//! What a root holds before anybody uses it: directories, files that all clients share, and links to them.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// The directories that are there from the start.
pub(crate) const DIRECTORIES: [&str; 4] = ["", "a", "b", "b/deep"];

/// How many shared files each of them holds.
const SHARED: usize = 2;

/// The directory of the links.
const LINKS: &str = "links";

/// Makes it all.
///
/// # Errors
/// What the system said.
pub(crate) fn furnish(root: &Path) -> io::Result<()> {
    fs::create_dir(root.join(LINKS))?;
    for directory in DIRECTORIES {
        fs::create_dir_all(root.join(directory))?;
    }
    for (number, (link, file)) in links().into_iter().enumerate() {
        fs::write(root.join(&file), format!("stamp {:08}.\nfurniture {number}\n", 0))?;
        symlink(Path::new("..").join(&file), root.join(link))?;
    }
    Ok(())
}

/// Each link, and the shared file that it leads to.
pub(crate) fn links() -> Vec<(String, String)> {
    let files = DIRECTORIES.iter().flat_map(|directory| {
        (0..SHARED).map(move |number| match *directory {
            "" => format!("shared-{number}"),
            directory => format!("{directory}/shared-{number}"),
        })
    });
    files.enumerate().map(|(number, file)| (format!("{LINKS}/to-{number}"), file)).collect()
}
