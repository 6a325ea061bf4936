"""A folder with a configuration, and the command line in it."""

from benches import bench

__all__ = ["bench"]
