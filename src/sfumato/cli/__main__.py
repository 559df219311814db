"""`python -m sfumato.cli`, for places where the command is not on the path."""

from sfumato.cli.app import main

main()
