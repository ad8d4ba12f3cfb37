"""The rules: their pages, their detectors, and what each of them needs."""
