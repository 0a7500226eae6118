"""A run as one page: its folder is read, drawn as charts with tables, and set as HTML."""
