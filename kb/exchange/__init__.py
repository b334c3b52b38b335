"""Importers and exporters, one file per foreign format."""
