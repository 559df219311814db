"""What stands between devices and the collector: it drops addresses, limits, gathers, shuffles and sends on."""
