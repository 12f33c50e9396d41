"""A swimmer in the wake of a cylinder: an incompressible flow solver, bodies in it and the task."""
