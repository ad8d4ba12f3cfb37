"""The drill: growing runs with one planted fault each (or none), and how each rule and the verdict did on them."""
