"""Other negotiation libraries. Each is imported only here, and only when it is asked for."""
