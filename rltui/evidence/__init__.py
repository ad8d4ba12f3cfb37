"""What can be measured on a run at a row. Rules, sentences, verdict and screens all take it from here."""
