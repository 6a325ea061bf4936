"""The exit codes, which scripts rely on."""

EXIT_OK = 0
EXIT_THRESHOLD = 1
EXIT_USAGE = 2
EXIT_INCOMPLETE = 3
EXIT_INTERNAL = 4
SIGNAL_BASE = 128

TABLE = (
    "Exit codes: 0 done · 1 a stated threshold missed · 2 usage, configuration or data · "
    "3 run incomplete (a vendor stopped, a limit met, or most samples of a vendor failed) · 4 internal or disk · "
    "130/143 interrupted"
)
