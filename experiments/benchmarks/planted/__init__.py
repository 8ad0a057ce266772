"""The planted benchmark: small targets with known minima, and what it takes to find and to prove them."""
