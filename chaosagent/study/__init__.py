"""All trials of one search: trials, the store, minimisation, confirmation."""
