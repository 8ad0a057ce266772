"""What executed runs have shown, as searchers keep it."""
