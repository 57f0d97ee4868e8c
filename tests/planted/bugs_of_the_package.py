"""All planted bugs of the Python package, by subject in the modules next to this one."""

from __future__ import annotations

from typing import Final

from tests.planted.bugs_of_accounting import BUGS_OF_ACCOUNTING
from tests.planted.bugs_of_alerts import BUGS_OF_ALERTS
from tests.planted.bugs_of_discovery import BUGS_OF_DISCOVERY
from tests.planted.bugs_of_distinct_items import BUGS_OF_DISTINCT_ITEMS
from tests.planted.bugs_of_engines import BUGS_OF_ENGINES
from tests.planted.bugs_of_kafka import BUGS_OF_KAFKA
from tests.planted.bugs_of_ledgers import BUGS_OF_LEDGERS
from tests.planted.bugs_of_partial_counts import BUGS_OF_PARTIAL_COUNTS
from tests.planted.bugs_of_people import BUGS_OF_PEOPLE
from tests.planted.bugs_of_people_in_parts import BUGS_OF_PEOPLE_IN_PARTS
from tests.planted.bugs_of_pipelines import BUGS_OF_PIPELINES
from tests.planted.bugs_of_ranges import BUGS_OF_RANGES
from tests.planted.bugs_of_sensitivity import BUGS_OF_CALIBRATION, BUGS_OF_SENSITIVITY
from tests.planted.bugs_of_sliding_windows import BUGS_OF_SLIDING_WINDOWS
from tests.planted.bugs_of_states import BUGS_OF_STATES
from tests.planted.bugs_of_statistic_windows import BUGS_OF_STATISTIC_WINDOWS
from tests.planted.bugs_of_statistics import BUGS_OF_STATISTICS
from tests.planted.bugs_of_stored_objects import BUGS_OF_STORED_OBJECTS
from tests.planted.bugs_of_sums import BUGS_OF_SUMS
from tests.planted.bugs_of_the_command import BUGS_OF_THE_COMMAND
from tests.planted.bugs_of_the_final_push import BUGS_OF_THE_END
from tests.planted.bugs_of_the_service import BUGS_OF_THE_SERVICE
from tests.planted.bugs_of_values import BUGS_OF_VALUES
from tests.planted.bugs_of_windows import BUGS_OF_KEYS, BUGS_OF_WINDOWS
from tests.planted.planted_bug import PlantedBug

__all__ = ["BUGS_OF_THE_PACKAGE"]

BUGS_OF_THE_PACKAGE: Final[tuple[PlantedBug, ...]] = (
    *BUGS_OF_SENSITIVITY,
    *BUGS_OF_CALIBRATION,
    *BUGS_OF_DISTINCT_ITEMS,
    *BUGS_OF_VALUES,
    *BUGS_OF_SUMS,
    *BUGS_OF_RANGES,
    *BUGS_OF_PIPELINES,
    *BUGS_OF_PEOPLE,
    *BUGS_OF_PEOPLE_IN_PARTS,
    *BUGS_OF_ACCOUNTING,
    *BUGS_OF_LEDGERS,
    *BUGS_OF_WINDOWS,
    *BUGS_OF_SLIDING_WINDOWS,
    *BUGS_OF_STATISTIC_WINDOWS,
    *BUGS_OF_THE_END,
    *BUGS_OF_KEYS,
    *BUGS_OF_DISCOVERY,
    *BUGS_OF_THE_COMMAND,
    *BUGS_OF_STATISTICS,
    *BUGS_OF_STORED_OBJECTS,
    *BUGS_OF_PARTIAL_COUNTS,
    *BUGS_OF_ENGINES,
    *BUGS_OF_STATES,
    *BUGS_OF_ALERTS,
    *BUGS_OF_THE_SERVICE,
    *BUGS_OF_KAFKA,
)
