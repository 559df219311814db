"""Sfumato: private answers with their guarantee, error bar and certificate."""
