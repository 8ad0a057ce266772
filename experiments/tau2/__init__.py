"""tau2-bench's airline and retail domains as targets."""
