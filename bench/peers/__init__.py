"""Programs of others that benchmarks and tests run beside ours, built from their Go modules."""
