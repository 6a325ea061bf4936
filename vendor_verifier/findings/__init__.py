"""What a run shows of its vendors: findings by facet, and the verdict that they add up to."""
