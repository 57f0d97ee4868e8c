//! The store on a simulated machine: crashes, errors, damaged and older files.

mod campaign;
mod damage;
mod early_writing;
mod history;
mod machine;
mod model;
mod random;
mod refusals;
mod simulated_disk;
mod time_limit;
