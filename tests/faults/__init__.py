"""An error at every point of every operation: nothing is lost, half done or stuck."""
