"""The samplers that NERS is compared with, its features, and diagnostics of the draws."""
