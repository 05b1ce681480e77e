"""What makes a question hard: its difficulty profile, and why tools time out on it."""
