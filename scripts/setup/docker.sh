#!/usr/bin/env bash
# Provides a Docker engine that answers: the one that runs, or Debian's, started with or without systemd.
. "$(dirname "$0")/common.sh"

# Time that an engine has for an answer (s): one that hangs takes every request and answers none.
answers=10
# Without its containerd an engine answers, but starts no container.
engine_answers() {
    have docker || return 1
    case "$(timeout "$answers" docker version --format '{{range .Server.Components}}{{.Name}} {{end}}' 2>/dev/null)" in
        *containerd*) ;;
        *) return 1 ;;
    esac
}
# `docker` may be Podman's client (the package podman-docker), or Docker's client with Podman's service. Docker's
# package would replace podman-docker.
if have docker; then
    case "$(timeout "$answers" docker --version 2>&1; timeout "$answers" docker version --format '{{.Server.Components}}' 2>&1)" in
        *[Pp]odman*) die "this \`docker\` is Podman: use the runtime podman, or podman-rootless without root (./plimsoll drop docker docker-ptrace, ./plimsoll add podman)." ;;
    esac
fi
if engine_answers; then
    # Processes in its containers would look like others' (runtimes/docker.py).
    case "$(timeout "$answers" docker info --format '{{.SecurityOptions}}')" in
        *name=rootless*) die "Docker runs here without root, which is not measured: use root's engine, as a user of the group docker, or Podman, which can measure without root." ;;
    esac
    exit 0
fi

# A user who may use an engine may have to wait until its containerd is back.
if ! is_root; then
    end=$((SECONDS + answers * 2))
    while [ "$SECONDS" -lt "$end" ] && have docker && timeout "$answers" docker version >/dev/null 2>&1; do
        if engine_answers; then exit 0; fi
        sleep 0.5
    done
fi
is_root || die "Docker is not usable by this user: start the engine and add the user to the docker group, then type the command again."
if ! have dockerd || ! have docker; then
    packages=(docker.io iptables)
    # From Debian 13 on the client is a package of its own.
    if apt-cache show docker-cli >/dev/null 2>&1; then packages+=(docker-cli); fi
    need_packages "Docker" "${packages[@]}"
    engine_answers && exit 0
fi

log=/var/log/plimsoll-dockerd.log
say "starting the Docker engine"
if [ -d /run/systemd/system ]; then
    timeout 60 systemctl start docker || die "the Docker engine did not start: see 'systemctl status docker', then type the command again."
else
    # A dead engine's pid files keep the next one from starting. A zombie still has the engine's name.
    pidfile=/var/run/docker.pid
    runs() { grep -qsE '^Name:.(dockerd|containerd)$' "/proc/$1/status" && ! grep -qs '^State:.Z' "/proc/$1/status"; }
    for file in "$pidfile" /var/run/docker/containerd/containerd.pid; do
        if [ -f "$file" ] && ! runs "$(cat "$file")"; then rm -f "$file"; fi
    done
    # Own session and no inherited streams: the engine outlives this script and must hold no caller's pipe open.
    # (A list such as 'test || dockerd &' would leave a subshell behind that does hold them.)
    if ! [ -f "$pidfile" ]; then setsid --fork dockerd >>"$log" 2>&1 </dev/null 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; fi
fi
seconds=${PLIMSOLL_ENGINE_SECONDS:-60}
end=$((SECONDS + seconds))
while [ "$SECONDS" -lt "$end" ]; do
    engine_answers && exit 0
    sleep 0.5
done
die "the Docker engine did not answer within $seconds s: see $log, end it if it hangs, start it by hand, then type the command again."
