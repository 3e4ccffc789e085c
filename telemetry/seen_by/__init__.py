"""The run as an operator's monitoring would have seen it: polled at real periods, cleared on read, estimated."""
