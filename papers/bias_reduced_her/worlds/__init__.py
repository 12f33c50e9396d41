"""The tasks, their goal distributions (Appendix A) and what is measured in them."""
