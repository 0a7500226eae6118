"""File formats (HDF5) and the pure geometry that goes into them. Imports nothing of ours."""
