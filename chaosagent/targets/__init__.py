"""The system under test and its adapters."""
