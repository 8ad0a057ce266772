"""Capabilities, policies, the mediator and trust."""
