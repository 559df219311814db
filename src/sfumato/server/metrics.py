"""Counts for those who run the service, in the text form that Prometheus reads; nothing of the data."""

from __future__ import annotations

import threading
from collections import Counter

from starlette.routing import Route

__all__ = ["Metrics"]

BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Requests by route and status, and how long they took."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._within: Counter[tuple[str, float]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, method: str, route: object, status: int, seconds: float) -> None:
        """Take note of a request; routes that nobody defined are one."""
        path = route.path if isinstance(route, Route) else "other"
        known = method if method in ("GET", "POST", "DELETE", "HEAD", "PUT", "OPTIONS") else "other"
        with self._lock:
            self._requests[known, path, status] += 1
            self._seconds[path] += seconds  # type: ignore[assignment]
            for bound in BUCKETS:
                if seconds <= bound:
                    self._within[path, bound] += 1

    def text(self, gauges: dict[str, float]) -> str:
        """What Prometheus reads."""
        with self._lock:
            requests, within, seconds = dict(self._requests), dict(self._within), dict(self._seconds)
        lines = ["# TYPE sfumato_requests_total counter"]
        for (method, path, status), count in sorted(requests.items()):
            lines.append(f'sfumato_requests_total{{method="{method}",route="{path}",status="{status}"}} {count}')
        lines.append("# TYPE sfumato_request_seconds histogram")
        for path in sorted(seconds):
            total = sum(count for (_, one, _), count in requests.items() if one == path)
            for bound in BUCKETS:
                lines.append(
                    f'sfumato_request_seconds_bucket{{route="{path}",le="{bound}"}} {within.get((path, bound), 0)}'
                )
            lines.append(f'sfumato_request_seconds_bucket{{route="{path}",le="+Inf"}} {total}')
            lines.append(f'sfumato_request_seconds_sum{{route="{path}"}} {seconds[path]:.6f}')
            lines.append(f'sfumato_request_seconds_count{{route="{path}"}} {total}')
        for name, value in sorted(gauges.items()):
            lines += [f"# TYPE {name.partition('{')[0]} gauge", f"{name} {value:g}"]
        return "\n".join(lines) + "\n"
