"""Bills, prices, identity and behaviour of vendors, checked over stored answers, and the findings that come of it."""
