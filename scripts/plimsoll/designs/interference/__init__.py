"""Design `interference`: microservices alone and in pairs, in one container or in two (jha2018, jha2021)."""
