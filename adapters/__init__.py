"""This project's samplers in other people's libraries; README.md shows how."""
