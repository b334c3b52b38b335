"""Importers and exporters, one module per foreign format."""
