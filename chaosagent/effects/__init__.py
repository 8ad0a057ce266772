"""What a call commits, and when a call that was answered has failed all the same; one meaning for doors and files."""

__all__ = ["condition", "failed_when", "ledger", "rule", "suspect"]
