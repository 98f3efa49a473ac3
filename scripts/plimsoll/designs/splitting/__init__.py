"""Design of liu2020: one MPI application split over more and more containers, with its factors, schemes and affinity."""
