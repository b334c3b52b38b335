"""The Chinese half of what kb says: English template to Chinese template."""

ZH: dict[str, str] = {}
