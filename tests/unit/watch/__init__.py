"""Tests of the headless watch."""
