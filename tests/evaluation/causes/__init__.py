"""Faults whose cause is known, planted in runs of many kinds: does the report lead with the true one?"""
