"""The planted double refund: the smallest target that can pay twice, and its hardened sister."""
