#!/bin/sh
# Apptainer starts this in an instance of an unpacked image that it has not made itself. The instance stays up without it.
exit 0
