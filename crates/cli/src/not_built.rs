//! The commands that a build without the feature `live` leaves out: those for this machine's own kernel.

/// Declares a command that accepts any arguments and explains how to build it.
macro_rules! not_built {
    ($($module:ident: $name:ident, $command:literal;)*) => {$(
        pub mod $module {
            /// Not part of this build.
            #[derive(clap::Args)]
            #[command(disable_help_flag = true)]
            pub struct $name {
                /// Ignored arguments.
                #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
                _words: Vec<std::ffi::OsString>,
            }

            impl $name {
                /// Explains how to build the command.
                ///
                /// # Errors
                /// Always.
                pub fn run(&self) -> Result<u8, crate::failure::Failure> {
                    Err(crate::failure::Failure::usage(format!(
                        "`goodness {}` works on this machine's kernel, which this build leaves out. Build it in: \
                         cargo build --release --features live",
                        $command
                    )))
                }
            }
        }
    )*};
}

not_built! {
    calibrate: Calibrate, "calibrate";
    conform: Conform, "conform";
    doctor: Doctor, "doctor";
    elevate: Elevate, "elevate";
    live: Live, "live";
    play: Play, "play";
    race: Race, "race";
    record: Record, "record";
}
