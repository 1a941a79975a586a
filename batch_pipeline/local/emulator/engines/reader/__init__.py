"""The default engine: a deterministic reader of CVs by headings, dates and patterns. It never invents."""
