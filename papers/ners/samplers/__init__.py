"""The samplers that NERS is compared with, its features, and what is recorded of the draws."""
