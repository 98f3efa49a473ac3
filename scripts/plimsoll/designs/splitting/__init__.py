"""One MPI application, split over more and more containers (liu2020): its deployments, schemes and affinity."""

from plimsoll.design import Design

DESIGN = Design(__name__)
