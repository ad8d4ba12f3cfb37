"""What can be measured on a run at a row: rules, sentences, verdict and screens take it from here."""
