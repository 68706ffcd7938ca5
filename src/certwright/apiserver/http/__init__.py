"""HTTP: requests go in as bytes and come out as values; objects go in and responses come out."""
