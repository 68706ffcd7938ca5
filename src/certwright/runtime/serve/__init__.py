"""What a process shows of itself: its state goes in; logs, metrics and probes come out."""
