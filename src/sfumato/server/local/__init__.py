"""Local collection over HTTP: collectors, relays, turns of inquiries, and the page that collects one answer."""
