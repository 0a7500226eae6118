"""Launch text for mpirun and SLURM."""
