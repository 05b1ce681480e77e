"""Where rows of work are done: processes of this machine, or the workers of a Dask cluster."""
