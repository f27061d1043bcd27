# Of the cluster in $DIR, for the scripts next to this one: its processes, recorded as DIR/run/NAME.sim.
export LC_ALL=C SLURM_CONF=$DIR/etc/slurm.conf

# A pid file holds "PID STARTTIME": a recycled pid is never taken for ours; a zombie is not alive.
stat_of() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f"$2"; }
alive() { # FILE
  local pid st
  [ -s "$1" ] && read -r pid st <"$1" && [ "$(stat_of "$pid" 20)" = "$st" ] && [ "$(stat_of "$pid" 1)" != Z ]
}
launch() { # NAME CMD... : starts it detached, its output in log/NAME.out
  local name=$1 pre=(); shift
  [ ! -f "$DIR/etc/hosts" ] || pre=(unshare -m --propagation private sh -c 'mount --bind "$1" /etc/hosts && shift && exec "$@"' hosts "$DIR/etc/hosts")
  setsid -f bash -c 'echo "$$ $(sed "s/.*) //" /proc/$$/stat | cut -d" " -f20)" >"$1.new" && mv "$1.new" "$1" && shift && exec "$@"' \
    launch "$DIR/run/$name.sim" "${pre[@]}" "$@" </dev/null >>"$DIR/log/$name.out" 2>&1
  for _ in $(seq 50); do [ -s "$DIR/run/$name.sim" ] && return; sleep 0.02; done
}
finish() { # NAME GRACE : TERM, then KILL after GRACE seconds
  local file=$DIR/run/$1.sim pid st
  if alive "$file"; then
    read -r pid st <"$file"
    [ "$2" = 0 ] || kill -TERM "$pid" 2>/dev/null
    for _ in $(seq $(($2 * 20))); do alive "$file" || break; sleep 0.05; done
    alive "$file" && kill -KILL "$pid" 2>/dev/null
  fi
  rm -f "$file"
}
# Job steps and the processes of jobs carry the SLURM_CONF of this cluster; step daemons hold the log of their node open.
steps() { # [NODE] : the numbers of those processes
  local d variables
  for d in /proc/[0-9]*; do
    variables=$(tr '\0' '\n' 2>/dev/null <"$d/environ") || continue
    grep -qaxF "SLURM_CONF=$SLURM_CONF" <<<"$variables" || continue
    if [[ "$(readlink "$d/exe" 2>/dev/null)" == */slurmstepd* ]]; then
      [ -z "${1:-}" ] || readlink "$d"/fd/* 2>/dev/null | grep -qxF "$DIR/log/slurmd.$1.log" || continue
    else
      grep -qa "^SLURMD_NODENAME=${1:-}" <<<"$variables" || continue
    fi
    echo "${d#/proc/}"
  done
}
