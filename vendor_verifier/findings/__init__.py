"""Findings about the vendors of a run by facet, and the verdict that follows from them."""
