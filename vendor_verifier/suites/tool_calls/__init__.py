"""The originals' arithmetic, quirks and crashes included, for comparison with published numbers; nothing is mended.

Behaviour was taken from mcpbr 0.14.0 (ToolBench, MCPToolBench++) and eval_ai_library 0.8.2 (Tool Correctness). Input on
which an original raises makes these raise the same class of exception; the suites turn that into an unresolved sample.
"""
