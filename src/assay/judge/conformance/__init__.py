"""A short exam for a verifier: does it answer, refuse and end as it should?"""
