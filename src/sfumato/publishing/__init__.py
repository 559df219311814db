"""What a session publishes besides answers: recipes that read the table once and return a public thing."""

from sfumato.publishing.recipe import Publication, Recipe

__all__ = ["Publication", "Recipe"]
