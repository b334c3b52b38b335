"""Start-up: what makes a process of a hook cheap to start; only modules on the hot list may use it."""
