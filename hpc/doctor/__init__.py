"""`python -m hpc doctor`: what the ranks run on, and what is wrong with it."""
