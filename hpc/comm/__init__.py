"""Communicators, planned exchanges and buffers: no word about networks."""
