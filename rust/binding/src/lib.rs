//! Python binding of lazysketch-core: it converts values, releases the interpreter lock and
//! translates errors; it does no arithmetic. The public classes in python/lazysketch subclass
//! these.
//!
//! Exact counts of private sketches do not cross this boundary: the core returns only releases,
//! estimates and public parameters.

mod array_cells;
mod array_kinds;
mod arrays;
mod arrow;
mod arrow_import;
mod arrow_items;
mod arrow_layout;
mod batches;
mod bounded_change;
mod capture;
mod columns;
mod delimited_reader;
mod descriptions;
mod errors;
mod estimation;
mod event_batch;
mod event_logging;
mod exact;
#[cfg(feature = "faults")]
mod failing_allocator;
mod field_reader;
mod fingerprint_logging;
mod fixed_width_text;
mod guarded_sketch;
mod heavy_sketch;
mod hierarchy;
mod introspection;
mod items;
mod key;
mod level_names;
mod live_view;
mod logged_events;
mod logged_people;
mod maker_process;
mod nesting_lock;
mod owned_items;
mod packed_text;
mod partial;
mod peeling;
mod people;
mod private;
mod record_parts;
mod release;
mod saved_state;
mod several_streams;
mod several_tables;
mod single_events;
mod standard_types;
mod store;
mod sums;
mod table_parts;
mod text;
mod text_column;
mod values;
mod weights;

use pyo3::prelude::*;

/// The native core of lazysketch.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::arrow_items::arrow_values;
    #[pymodule_export]
    use super::capture::CaptureReader;
    #[pymodule_export]
    use super::delimited_reader::DelimitedReader;
    #[pymodule_export]
    use super::descriptions::{discovery_facts, table_not_private_because};
    #[pymodule_export]
    use super::estimation::ErrorModel;
    #[pymodule_export]
    use super::event_logging::logged_events;
    #[pymodule_export]
    use super::exact::ExactSketch;
    #[cfg(feature = "faults")]
    #[pymodule_export]
    use super::failing_allocator::{fail_allocation, stop_failing_allocations};
    #[pymodule_export]
    use super::field_reader::{FieldReader, log_fields, pattern_groups};
    #[pymodule_export]
    use super::fingerprint_logging::logged_fingerprints;
    #[pymodule_export]
    use super::heavy_sketch::HeavySketch;
    #[pymodule_export]
    use super::hierarchy::Hierarchy;
    #[pymodule_export]
    use super::introspection::{
        mechanism_difference_variances, mechanism_facts, mechanism_final_pushes, mechanism_fits,
        mechanism_largest_leaves, mechanism_rows, mechanism_variances, schedule_leaves,
        schedule_published_steps, schedule_pushes,
    };
    #[pymodule_export]
    use super::items::plain_item;
    #[pymodule_export]
    use super::key::Key;
    #[pymodule_export]
    use super::level_names::{LevelNames, repeated_names};
    #[pymodule_export]
    use super::logged_events::LoggedEvents;
    #[pymodule_export]
    use super::logged_people::LoggedPeople;
    #[pymodule_export]
    use super::maker_process::after_fork_in_child;
    #[pymodule_export]
    use super::nesting_lock::NestingLock;
    #[pymodule_export]
    use super::partial::{GatheredCounts, PartialCounts};
    #[pymodule_export]
    use super::peeling::PeeledTable;
    #[pymodule_export]
    use super::people::{
        People, add_bounded_to_batch_of_all, events_within_bound, people_of_batch, update_bounded,
    };
    #[pymodule_export]
    use super::private::PrivateSketch;
    #[pymodule_export]
    use super::release::Release;
    #[pymodule_export]
    use super::saved_state::SavedState;
    #[pymodule_export]
    use super::several_streams::update_streams;
    #[pymodule_export]
    use super::several_tables::{
        add_to_batch_of_all, call_locked, close_all, end_epoch_of_all, finish_all, tick_all,
        update_all, update_batch_of_all, update_levels, update_rows_of_all, update_rows_of_each,
    };
    #[pymodule_export]
    use super::single_events::{EventsOfLevels, EventsOfTable, EventsOfWindows};
    #[pymodule_export]
    use super::store::Store;
    #[pymodule_export]
    use super::sums::update_sums;
    #[pymodule_export]
    use super::text::{
        access_log_items, access_log_people, access_log_times, json_elements, json_rows,
        line_items, numbers_of_texts,
    };
    #[pymodule_export]
    use super::text_column::TextColumn;
    #[pymodule_export]
    use super::values::{
        bins_of_values, value_prefixes, value_tree_facts, value_tree_rows, value_variances,
    };
    #[pymodule_export]
    use super::weights::plain_weights;

    use pyo3::prelude::*;

    /// Add the version of all crates and of the package. Reading it from the installed package's
    /// metadata would cost a tenth of the time of importing NumPy.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
