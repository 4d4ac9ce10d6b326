"""The wire formats of models. Each module reads a request and writes a reply, in one piece or as a stream."""
