"""Microservices alone and in pairs, in one container or in two: jha2018's and jha2021's cases."""
