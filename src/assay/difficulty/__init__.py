"""What makes a question hard: its difficulty profile, and why tools leave it unsolved."""
