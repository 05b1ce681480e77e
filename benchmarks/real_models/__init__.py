"""Real data and models, from what the package registries carry, for studies of the analysers.

Everything lives in one cache folder (see `cache.py`); nothing is installed and nothing of it is
committed. `datasets.py` gives labelled images, `models.py` the models with their preprocessing.
"""
