"""Real MCP servers: the only place that imports their SDK, starts them and speaks to them."""
