"""Analysers against questions whose failure rate is known: what they promise and what they do."""
