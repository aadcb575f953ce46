//! Errors of clap, with what to do about them.

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The error with a remedy, unless it has one. Sentences of this program's own parsers end with theirs.
pub fn with_remedy(mut error: Error) -> Error {
    let given = |kind| error.get(kind).is_some();
    let remedy = match error.kind() {
        ErrorKind::ValueValidation if wants_number(&error) => "write a whole number of that range, such as 10",
        ErrorKind::InvalidValue if !given(ContextKind::SuggestedValue) => "write a value; the help shows what it takes",
        ErrorKind::ArgumentConflict => "leave one of them out",
        ErrorKind::MissingRequiredArgument => "add what the usage line shows",
        ErrorKind::UnknownArgument if !given(ContextKind::SuggestedArg) => "leave it out; the help lists what there is",
        ErrorKind::InvalidSubcommand if !given(ContextKind::SuggestedSubcommand) => "the help lists the commands",
        _ => return error,
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![remedy.into()]));
    error
}

/// True if the value is not a number, or none of the range that the error names.
fn wants_number(error: &Error) -> bool {
    let why = std::error::Error::source(error);
    why.is_some_and(|why| why.is::<std::num::ParseIntError>() || why.to_string().contains(" is not in "))
}
