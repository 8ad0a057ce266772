"""Ends searches in every way and at many moments, resumes them, and looks for differences and for what is left."""
