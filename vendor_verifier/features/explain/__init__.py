"""Why one request counted as it did, with the request as curl."""
