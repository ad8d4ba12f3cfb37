"""The rules: their pages, their detectors, and what each rule needs."""
