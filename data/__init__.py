"""Ground floor: records, studies, words and errors; imports nothing above itself."""
