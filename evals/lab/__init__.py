"""The fault lab: tiny real trainings with one fault injected, and the loop that must repair them."""
