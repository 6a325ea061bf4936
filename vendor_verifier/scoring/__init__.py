"""Several vendors or runs side by side → judgement; pure, and no vendor is judged by anything but its records."""
