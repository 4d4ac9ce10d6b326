"""Runs agent clients with a scripted model and looks at what the model was shown."""
