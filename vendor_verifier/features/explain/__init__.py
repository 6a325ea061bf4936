"""The explanation of a single request's score, with the request as curl."""
