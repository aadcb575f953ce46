"""`python -m goodness`: the command `goodness`."""

from goodness._command import main

if __name__ == "__main__":
    main()
