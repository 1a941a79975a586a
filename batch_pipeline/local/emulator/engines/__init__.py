"""What answers behind the emulator: `reader` by default, `openai` for real answers, `fixed` for load."""
