"""What tests of the discovery service share."""
