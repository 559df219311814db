"""The command line: `sfumato draft | check | extent | preview | publish | synthesize | ask | sql | more | sanitize |
show | explain | ledger | audit`, `serve | analyst` for the query service, `key | relay | collect | merge | estimate`
for local reports, and `epsilon` for accounting.
"""

from sfumato.cli.app import main

__all__ = ["main"]
