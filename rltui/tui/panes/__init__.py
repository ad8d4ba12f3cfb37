"""What each pane draws: pure functions from the view and a size to rows."""
