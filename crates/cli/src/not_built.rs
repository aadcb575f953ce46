//! The commands that a build without a feature leaves out: `live`, for this machine's own kernel, and `tables`.

/// Declares commands that accept any arguments and explain how to build them. `$what` says what they do.
macro_rules! not_built {
    ($feature:literal, $what:literal, $($module:ident: $name:ident, $command:literal, $summary:literal;)*) => {$(
        pub mod $module {
            /// Not part of this build.
            #[derive(clap::Args)]
            #[command(disable_help_flag = true, about = concat!($summary, " (not in this build)"))]
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
                        "`goodness {}` {}, which this build leaves out. Build it in: cargo build --release --features \
                         {}",
                        $command, $what, $feature
                    )))
                }
            }
        }
    )*};
}

#[cfg(not(feature = "live"))]
pub mod live {
    not_built! {
        "live", "works on this machine's kernel",
        calibrate: Calibrate, "calibrate", "Measure the scheduling costs of this machine";
        conform: Conform, "conform", "Compare a simulation with the same work on the running kernel";
        doctor: Doctor, "doctor", "Check what works on this machine, and undo leftovers of killed commands";
        elevate: Elevate, "elevate", "Run an elevator for a real disk";
        live: Live, "live", "Schedule real threads of this machine with a policy";
        play: Play, "play", "Play work as real threads, under the scheduler of the running kernel";
        race: Race, "race", "Race real servers under different kernel settings";
        record: Record, "record", "Record this machine's scheduling";
    }
}

#[cfg(not(feature = "tables"))]
pub mod tables {
    not_built! {
        "tables", "writes Parquet files",
        sweep: Sweep, "sweep", "Sweep a space of arms, settings, machines, inputs and seeds";
    }
}
