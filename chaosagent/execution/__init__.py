"""Running a target under a schedule, here or in worker processes."""
