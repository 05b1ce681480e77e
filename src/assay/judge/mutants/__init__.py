"""Verifiers broken on purpose: the built-in linear verifier with one bug each.

One module a mutant; each declares MUTANT: its class of bug, its story, and which part of the
verifier it swaps. `assay.judge.power` finds them here, runs them and counts who is caught.
"""
