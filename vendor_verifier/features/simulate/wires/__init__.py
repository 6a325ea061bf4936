"""The protocols as the simulated vendors speak them, one file each."""
