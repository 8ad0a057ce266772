"""An agent in another language, tested without a change to how it works."""
