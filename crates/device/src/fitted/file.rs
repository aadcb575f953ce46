//! Device files: a [`Model`] as TOML.

use super::Model;

/// True if `device` is the path of a device file instead of a name.
#[must_use]
pub fn is_file(device: &str) -> bool {
    device.ends_with(".toml")
}

/// Reads a device file.
///
/// # Errors
/// A file that cannot be read, or that is no device file, as a sentence.
pub fn read(path: &str) -> Result<Model, String> {
    let remedy = format!("`goodness calibrate --device PATH -o {path}` writes a device file");
    let text = std::fs::read_to_string(path).map_err(|why| format!("{path} cannot be read: {why}; {remedy}"))?;
    parse(&text).map_err(|why| format!("{path} is no device file: {why}; {remedy}"))
}

fn parse(text: &str) -> Result<Model, String> {
    let model: Model = toml::from_str(text).map_err(|why| why.message().to_string())?;
    model.check()?;
    Ok(model)
}

impl Model {
    /// The file's text; `remarks` become comments at its head.
    #[must_use]
    pub fn render(&self, remarks: &[String]) -> String {
        let mut text = String::from("# Measured by `goodness calibrate --device`; docs/devices.md says how.\n");
        for remark in remarks {
            text += &format!("# {}\n", remark.replace(['\n', '\r'], " "));
        }
        text + &toml::to_string(self).expect("plain values are TOML")
    }
}

#[cfg(test)]
mod tests {
    use super::super::closed_loop::tests::plain;
    use super::*;
    use crate::by_name;
    use goodness_core::{Device, Seed};

    #[test]
    fn a_written_device_is_read_back_and_made_by_its_path() {
        let model = plain();
        let text = model.render(&["kernel: \"x\"\nand more".into()]);
        assert_eq!(parse(&text), Ok(model), "{text}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk.toml");
        std::fs::write(&path, text).unwrap();
        assert_eq!(by_name(path.to_str().unwrap(), Seed(1)).unwrap().facts().depth, 64);
    }

    #[test]
    fn a_device_file_that_is_none_is_a_sentence_with_the_remedy() {
        let missing = by_name("/none/disk.toml", Seed(1)).err().unwrap();
        assert!(missing.contains("goodness calibrate --device PATH -o /none/disk.toml"), "{missing}");
        assert!(parse("cpus = 4").unwrap_err().contains("unknown field `cpus`"));
        let mut model = plain();
        model.read.random.mean_ns.pop();
        assert_eq!(parse(&model.render(&[])), Err("[read]: random: mean_ns needs one list for each of sizes".into()));
        model.depth = 0;
        assert!(parse(&model.render(&[])).unwrap_err().contains("depth is 0"));
    }
}
