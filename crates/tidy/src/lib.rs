//! House rules, as tests.
