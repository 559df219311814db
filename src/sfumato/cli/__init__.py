"""The command line: `sfumato draft | plan | publish | ledger | show | audit`."""

from sfumato.cli.app import main

__all__ = ["main"]
