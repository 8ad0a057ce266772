"""The night shift of a warehouse: two agents who hand over work, and weaknesses that need one, two and three faults."""
