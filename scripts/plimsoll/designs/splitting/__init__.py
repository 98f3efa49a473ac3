"""One application split over more and more containers: liu2020's factors, schemes and affinity."""
