"""One run over several processes of this machine: the cluster's gate and coordinator here, its sessions in children.

It knows nothing of Dask and of other machines. ``count`` decides how many, ``executor`` is the parent's side,
``child`` starts and ends one process, ``process`` is what runs in it, ``socket_channel`` lies between.
"""
