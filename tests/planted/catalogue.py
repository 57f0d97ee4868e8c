"""All planted bugs."""

from __future__ import annotations

from tests.planted.bugs_of_the_binding import BUGS_OF_THE_BINDING
from tests.planted.bugs_of_the_core import BUGS_OF_THE_CORE
from tests.planted.bugs_of_the_package import BUGS_OF_THE_PACKAGE
from tests.planted.bugs_of_the_store import BUGS_OF_THE_STORE
from tests.planted.planted_bug import PlantedBug

BUGS: tuple[PlantedBug, ...] = (
    *BUGS_OF_THE_CORE,
    *BUGS_OF_THE_STORE,
    *BUGS_OF_THE_BINDING,
    *BUGS_OF_THE_PACKAGE,
)
