"""The MCP client: connections to servers that offer tools. Only `connection.py` and its transports load the SDK."""
