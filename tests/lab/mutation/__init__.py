"""Mutation testing of the code that proofs rest on: small mistakes are made, and tests must notice them."""
