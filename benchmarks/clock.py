"""Seconds of the wall and of processors."""

import os
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """Seconds since some moment: of the wall, and of all processors that this process and its ended children took."""

    wall: float
    processor: float

    @classmethod
    def now(cls) -> "Clock":
        """Read both."""
        took = os.times()
        return cls(time.perf_counter(), took.user + took.system + took.children_user + took.children_system)

    def since(self, earlier: "Clock") -> "Clock":
        """Seconds between two readings."""
        return Clock(self.wall - earlier.wall, self.processor - earlier.processor)
