"""Runs with one fault each, whose cause is known because the run is written with it. Each says the fault and the truth;
none was written to what rltui answers."""
