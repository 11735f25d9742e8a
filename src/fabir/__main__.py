"""`python -m fabir`, which launchers of several processes need."""

from fabir.cli import main

main()
