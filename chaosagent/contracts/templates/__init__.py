"""Contract templates: one file each, named after the contract's id."""
