"""The report: one HTML file that a verifier's author opens and acts on, and charts for papers."""
